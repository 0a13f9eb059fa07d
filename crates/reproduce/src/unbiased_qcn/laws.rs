use crate::{Context, Findings, ReproduceError};
pub fn sampling(_cx: &Context) -> Result<Findings, ReproduceError> {
    Ok(Findings::default())
}
pub fn feedback(_cx: &Context) -> Result<Findings, ReproduceError> {
    Ok(Findings::default())
}
pub fn reaction_point(_cx: &Context) -> Result<Findings, ReproduceError> {
    Ok(Findings::default())
}
