//! What calls of a session did.

/// What a call of a session did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advance {
    /// Steps done, those before a session that is resumed included.
    pub done: u64,
    /// The residual of the last check, if the stencil has a tolerance. A check that finds NaN ends a call early.
    pub residual: Option<f64>,
    /// Whether the call ended because the residual was small enough, at the last step that was asked for or earlier. A further call
    /// takes at least one more step.
    pub met: bool,
    /// Whether the caller's interrupt or deadline ended it.
    pub interrupted: bool,
}
