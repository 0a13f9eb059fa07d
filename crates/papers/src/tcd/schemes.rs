//! Schemes that are compared: a detection with a rate control.

use xoff_report::Colour;

/// Detection and rate control as settings over a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Name in figures.
    pub name: &'static str,
    /// Settings over the scenario.
    pub settings: &'static [&'static str],
    /// Colour in figures.
    pub colour: Colour,
}

/// DCQCN with ECN by RED.
pub const DCQCN: Scheme = Scheme { name: "DCQCN", settings: &["detection.kind=red", "rate_control.kind=dcqcn"], colour: Colour::Vermilion };
/// DCQCN with TCD: alpha begins at 1.2.
pub const DCQCN_TCD: Scheme = Scheme {
    name: "DCQCN + TCD",
    settings: &["detection.kind=tcd", "rate_control.kind=dcqcn", "rate_control.dcqcn.tcd=true"],
    colour: Colour::Blue,
};
/// DCQCN with TCD: the factor before alpha is 1.2.
pub const DCQCN_TCD_B: Scheme = Scheme {
    name: "DCQCN + TCD, reading B",
    settings: &["detection.kind=tcd", "rate_control.kind=dcqcn", "rate_control.dcqcn.tcd=true", "rate_control.dcqcn.tcd_cut=factor"],
    colour: Colour::Sky,
};
/// DCQCN with Non-PAUSE ECN, which marks whatever was not paused and leaves a queue.
pub const DCQCN_NP_ECN: Scheme =
    Scheme { name: "NP-ECN", settings: &["detection.kind=np-ecn", "rate_control.kind=dcqcn"], colour: Colour::Orange };
/// TIMELY.
pub const TIMELY: Scheme = Scheme {
    name: "TIMELY",
    settings: &["detection.kind=none", "rate_control.kind=timely", "host.acks=per-frame"],
    colour: Colour::Vermilion,
};
/// TIMELY with TCD.
pub const TIMELY_TCD: Scheme = Scheme {
    name: "TIMELY + TCD",
    settings: &["detection.kind=tcd", "rate_control.kind=timely", "rate_control.timely.tcd=true", "host.acks=per-frame"],
    colour: Colour::Blue,
};
/// InfiniBand congestion control with FECN.
pub const IB_CC: Scheme =
    Scheme { name: "IB CC", settings: &["detection.kind=fecn", "rate_control.kind=ib-cc"], colour: Colour::Vermilion };
/// InfiniBand congestion control with TCD.
pub const IB_CC_TCD: Scheme = Scheme {
    name: "IB CC + TCD",
    settings: &["detection.kind=tcd", "rate_control.kind=ib-cc", "rate_control.ib-cc.tcd=true"],
    colour: Colour::Blue,
};
/// HPCC. Marks mean nothing to it.
pub const HPCC: Scheme = Scheme {
    name: "HPCC",
    settings: &["detection.kind=red", "rate_control.kind=hpcc", "host.acks=per-frame", "host.header=42B", "host.ack_len=106B"],
    colour: Colour::Vermilion,
};
/// HPCC next to TCD.
pub const HPCC_TCD: Scheme = Scheme {
    name: "HPCC + TCD",
    settings: &["detection.kind=tcd", "rate_control.kind=hpcc", "host.acks=per-frame", "host.header=42B", "host.ack_len=106B"],
    colour: Colour::Blue,
};
