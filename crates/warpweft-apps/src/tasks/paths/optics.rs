//! Rays, spheres and what surfaces do with light. Sums, products and square roots only, so that every device gives the
//! same bits.

use warpweft::prelude::*;

/// A vector, or a colour.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
pub struct Vec3 {
    pub x: f32,
    pub y: f32,
    pub z: f32,
}

/// A ray of light, followed from the eye.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
pub struct Ray {
    pub from: Vec3,
    /// Of length 1.
    pub to: Vec3,
    /// The share of the light found that reaches the eye.
    pub weight: Vec3,
    pub pixel: u32,
    /// The state of its random numbers.
    pub seed: u32,
    pub bounces: u32,
}

/// A ray that has hit a surface, at `ray.from`.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
pub struct Hit {
    pub ray: Ray,
    /// Against the ray.
    pub normal: Vec3,
    /// Whether the ray leaves a sphere.
    pub leaves: bool,
}

/// A sphere of one material: 0 matte, 1 mirror, 2 glass.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
pub struct Sphere {
    pub centre: Vec3,
    pub radius: f32,
    pub colour: Vec3,
    pub material: u32,
}

/// The nearest surface on a ray's way: how far, and which sphere; -1 for the ground, -2 for none.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
pub struct Nearest {
    pub distance: f32,
    pub sphere: i32,
}

/// Surfaces nearer than this are the one that the ray comes from.
const EPSILON: f32 = 1e-3;

#[device]
pub fn vec3(x: f32, y: f32, z: f32) -> Vec3 {
    Vec3 { x, y, z }
}

#[device]
pub fn plus(a: Vec3, b: Vec3) -> Vec3 {
    Vec3 { x: a.x + b.x, y: a.y + b.y, z: a.z + b.z }
}

#[device]
pub fn times(a: Vec3, by: f32) -> Vec3 {
    Vec3 { x: a.x * by, y: a.y * by, z: a.z * by }
}

#[device]
pub fn tinted(a: Vec3, by: Vec3) -> Vec3 {
    Vec3 { x: a.x * by.x, y: a.y * by.y, z: a.z * by.z }
}

#[device]
pub fn dot(a: Vec3, b: Vec3) -> f32 {
    a.x * b.x + a.y * b.y + a.z * b.z
}

#[device]
pub fn unit(a: Vec3) -> Vec3 {
    times(a, 1.0 / dot(a, a).sqrt())
}

/// The next state of random numbers, and one that is well mixed (O'Neill, PCG-RXS-M-XS).
#[device]
pub fn next(seed: u32) -> u32 {
    seed.wrapping_mul(747796405).wrapping_add(2891336453)
}

/// A number of 0 to below 1.
#[device]
pub fn uniform(seed: u32) -> f32 {
    let word = ((seed >> ((seed >> 28) + 4)) ^ seed).wrapping_mul(277803737);
    (((word >> 22) ^ word) >> 8) as f32 * 5.9604645e-8
}

/// Where a ray meets a sphere; a negative number if it does not.
#[device]
pub fn meets(from: Vec3, to: Vec3, sphere: Sphere) -> f32 {
    let away = plus(from, times(sphere.centre, -1.0));
    let b = dot(away, to);
    let c = dot(away, away) - sphere.radius * sphere.radius;
    let square = b * b - c;
    if square < 0.0 {
        return -1.0;
    }
    let root = square.sqrt();
    if -b - root > EPSILON { -b - root } else { root - b }
}

/// The light of the sky: brighter where the sun is, or 1 everywhere.
#[device]
pub fn sky(to: Vec3, even: bool) -> Vec3 {
    if even {
        return vec3(1.0, 1.0, 1.0);
    }
    let sun = dot(to, vec3(-0.48, 0.64, 0.6));
    if sun > 0.985 {
        return vec3(14.0, 12.0, 9.0);
    }
    let high = 0.5 * (to.y + 1.0);
    plus(times(vec3(0.95, 0.95, 1.0), 0.8 - 0.8 * high), times(vec3(0.35, 0.6, 1.0), 0.8 * high))
}

/// The direction in which a matte surface sends light on: by the cosine to its normal (a point of a sphere on top of it).
#[device]
pub fn scattered(normal: Vec3, seed: u32) -> Vec3 {
    let mut state = seed;
    let mut to = normal;
    for _ in 0..8 {
        let x = uniform(state) * 2.0 - 1.0;
        state = next(state);
        let y = uniform(state) * 2.0 - 1.0;
        state = next(state);
        let z = uniform(state) * 2.0 - 1.0;
        state = next(state);
        let square = x * x + y * y + z * z;
        if square > 1e-4 && square <= 1.0 {
            to = plus(normal, times(vec3(x, y, z), 1.0 / square.sqrt()));
            break;
        }
    }
    if dot(to, to) < 1e-6 { normal } else { unit(to) }
}

/// As a mirror.
#[device]
pub fn reflected(to: Vec3, normal: Vec3) -> Vec3 {
    unit(plus(to, times(normal, -2.0 * dot(to, normal))))
}

/// Through glass, or back by the share that Schlick's formula reflects.
#[device]
pub fn refracted(to: Vec3, normal: Vec3, leaves: bool, chance: f32) -> Vec3 {
    let ratio = if leaves { 1.5f32 } else { 1.0 / 1.5 };
    let cosine = (-dot(to, normal)).min(1.0);
    let square = ratio * ratio * (1.0 - cosine * cosine);
    let c = 1.0 - cosine;
    let mirrored = 0.04 + 0.96 * c * c * c * c * c;
    if square > 1.0 || mirrored > chance {
        return reflected(to, normal);
    }
    let across = times(plus(to, times(normal, cosine)), ratio);
    unit(plus(across, times(normal, -(1.0 - dot(across, across)).abs().sqrt())))
}
