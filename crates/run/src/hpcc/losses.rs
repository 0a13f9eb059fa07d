//! Frames lost on links (`error_rate` of a link, `ERROR_RATE_PER_LINK` for the others).

use xoff_net::topology::LinkId;
use xoff_scenario::hpcc::HpccCase;
use xoff_sim::Losses;

use crate::hpcc::random::Generator;

/// The stream of every error model there: the first that is assigned by hand is at 2^63, and fifty
/// are taken.
const STREAM: u64 = (1 << 63) + 50;

/// Per link with an error rate of its own one generator, and one that all other links share. All
/// start alike.
#[derive(Clone)]
pub(crate) struct LinkErrors {
    /// By link: its place in `models`.
    of: Vec<Option<usize>>,
    models: Vec<(Generator, f64)>,
}

impl LinkErrors {
    /// `None` where nothing can be lost.
    pub fn new(case: &HpccCase) -> Option<LinkErrors> {
        let fresh = Generator::new(STREAM);
        let mut errors = LinkErrors { of: Vec::new(), models: Vec::new() };
        let shared = case.config.error_rate;
        if shared > 0.0 {
            errors.models.push((fresh.clone(), shared));
        }
        for link in &case.topology.links {
            errors.of.push(if link.error_rate > 0.0 {
                errors.models.push((fresh.clone(), link.error_rate));
                Some(errors.models.len() - 1)
            } else {
                (shared > 0.0).then_some(0)
            });
        }
        (!errors.models.is_empty()).then_some(errors)
    }
}

impl Losses for LinkErrors {
    fn lost(&mut self, link: LinkId) -> bool {
        let Some(model) = self.of[link as usize] else { return false };
        let (generator, rate) = &mut self.models[model];
        generator.next() < *rate
    }
}
