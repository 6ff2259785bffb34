//! Which recurrence aligns by a scoring in a scope.

/// The value of an expression of two variables: the recurrence for a scoring in a scope, and its border. `$plain` says
/// whether all letters of the targets are ACGT.
macro_rules! by_form {
    ($scoring:expr, $scope:expr, $plain:expr, |$element:ident, $border:ident| $body:expr) => {{
        use $crate::align::{Dna, Scope, affine, global_affine, global_letters, letters, scored};
        let (scoring, scope) = ($scoring, $scope);
        let (weights, band) = (scoring.weights(), scoring.band());
        let (linear, gapped) = (weights.border(scope, band), weights.gapped_border(scope, band));
        if let Some($element) = scored::with(scoring, scope) {
            let $border = gapped;
            $body
        } else {
            match (scope, weights.is_linear()) {
                // The plain four letters have a shorter inner loop on the device.
                (Scope::Local, true) if $plain && Dna::can(&weights) => {
                    let ($element, $border) = (Dna::new(weights), linear);
                    $body
                }
                (Scope::Local, true) => {
                    let ($element, $border) = (letters::with(weights), linear);
                    $body
                }
                (_, true) => {
                    let ($element, $border) = (global_letters::with(weights), linear);
                    $body
                }
                (Scope::Local, false) => {
                    let ($element, $border) = (affine::with(weights), gapped);
                    $body
                }
                (_, false) => {
                    let ($element, $border) = (global_affine::with(weights), gapped);
                    $body
                }
            }
        }
    }};
}
pub(crate) use by_form;
