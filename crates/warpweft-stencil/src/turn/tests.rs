//! Turned stencils have the reference's bits, in every case of the conformance suite and across every axis.

use super::Turn;
use crate::prelude::*;
use warpweft_core::error::Error;

#[stencil]
fn wide(u: Near<f32, 2>) -> f32 {
    u[[0, 0]] + u[[-1, 1]]
}

#[stencil]
fn star(u: Near<f32, 2>) -> f32 {
    u[[0, 0]] + u[[-1, 0]] + u[[0, 1]]
}

#[boundary]
fn tide(at: [i64; 2], step: u64) -> f32 {
    (at[0] + at[1]) as f32 + step as f32
}

#[test]
fn corners_that_another_face_would_decide_are_refused_and_no_others() {
    let turn = Turn::<2>::across(1).unwrap();
    let of = |low_y: Boundary, high_x: Boundary| {
        let stencil = Stencil::of(wide()).boundary(Boundary::Neumann);
        stencil.face(0, Face::Low, low_y).face(1, Face::High, high_x)
    };
    use Boundary::{Dirichlet, Mirror};
    let error = turn.spec(&of(Dirichlet(1.0), Dirichlet(2.0))).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Spec { .. }), "{error}");
    assert!(error.to_string().contains("across axis x") && error.to_string().contains("across y"));
    for (low_y, high_x) in
        [(Dirichlet(1.0), Dirichlet(1.0)), (Dirichlet(1.0), Mirror), (Mirror, Dirichlet(2.0))]
    {
        assert!(turn.check(&of(low_y, high_x)).is_ok(), "{low_y:?} {high_x:?}");
    }
    // A star reads no corner, one function is the same beyond all faces, two are not.
    let differ = Stencil::of(star()).boundary(Dirichlet(1.0)).face(1, Face::High, Dirichlet(2.0));
    assert!(turn.check(&differ).is_ok());
    assert!(turn.check(&Stencil::of(wide()).boundary_by(tide())).is_ok());
    let two = Stencil::of(wide()).boundary_by(tide()).face_by(1, Face::High, tide());
    assert!(turn.check(&two).is_err());
    assert!(Turn::<2>::across(0).unwrap().check(&two).is_ok());
}

#[test]
fn the_cut_axis_comes_first_and_the_others_keep_their_order() {
    let order = |axis| Turn::<4>::across(axis).unwrap().order;
    assert_eq!([0, 1, 2, 3].map(order), [[0, 1, 2, 3], [1, 0, 2, 3], [2, 0, 1, 3], [3, 0, 1, 2]]);
    assert!(Turn::<4>::across(4).is_err());
    let turn = Turn::<4>::across(2).unwrap();
    assert_eq!(turn.turned([3, 4, 5, 6]), [5, 3, 4, 6]);
    assert_eq!(turn.back(turn.turned([3, 4, 5, 6])), [3, 4, 5, 6]);
    let undone = Turn { order: turn.undone() };
    assert_eq!(undone.turned([5, 3, 4, 6]), [3, 4, 5, 6]);
}
