//! What there is to see, and where the eye is.

use warpweft::prelude::*;

use super::optics::{Nearest, Ray, Sphere, Vec3, dot, meets, plus, times, unit, vec3};

/// Spheres of a scene.
pub const SPHERES: usize = 40;

/// Spheres on a plane, under a sky.
#[derive(Clone, Copy, Debug, Device)]
#[repr(C)]
pub struct Scene {
    pub spheres: [Sphere; SPHERES],
    /// Whether all light is 1 and nothing takes any of it: every picture is then 1 everywhere.
    pub furnace: bool,
}

/// A camera: the eye, the upper left corner of what it sees, and the steps to the next column and row.
#[derive(Clone, Copy, Debug, Device)]
#[repr(C)]
pub struct Camera {
    pub eye: Vec3,
    pub corner: Vec3,
    pub right: Vec3,
    pub down: Vec3,
    pub width: u32,
}

impl Scene {
    /// Three large spheres, one of each material, among small ones.
    pub fn new(furnace: bool) -> Self {
        let colour = |r: f32, g: f32, b: f32| match furnace {
            true => vec3(1.0, 1.0, 1.0),
            false => vec3(r, g, b),
        };
        let large = |x: f32, material: u32, colour: Vec3| Sphere {
            centre: vec3(x, 1.0, -0.6 * x),
            radius: 1.0,
            colour,
            material,
        };
        let mut seed = 12345u32;
        let mut draw = || {
            seed = super::optics::next(seed);
            super::optics::uniform(seed)
        };
        let mut spheres = [large(0.0, 2, colour(1.0, 1.0, 1.0)); SPHERES];
        spheres[1] = large(-2.3, 0, colour(0.75, 0.25, 0.18));
        spheres[2] = large(2.3, 1, colour(0.95, 0.88, 0.7));
        let mut count = 3;
        while count < SPHERES {
            let radius = 0.16 + 0.18 * draw();
            let centre = vec3(11.0 * draw() - 5.5, radius, 9.0 * draw() - 4.0);
            let apart = |other: &Sphere| {
                let away = plus(centre, times(other.centre, -1.0));
                dot(away, away) > (radius + other.radius + 0.05).powi(2)
            };
            if !spheres[..count].iter().all(apart) {
                continue;
            }
            let material = [0, 0, 1, 0, 2][count % 5];
            let tint = match material {
                0 => colour(0.15 + 0.8 * draw(), 0.15 + 0.7 * draw(), 0.15 + 0.8 * draw()),
                1 => colour(0.7 + 0.3 * draw(), 0.7 + 0.3 * draw(), 0.7 + 0.3 * draw()),
                _ => colour(1.0, 1.0, 1.0),
            };
            spheres[count] = Sphere { centre, radius, colour: tint, material };
            count += 1;
        }
        Self { spheres, furnace }
    }
}

impl Camera {
    /// For a picture of so many pixels.
    pub fn new(width: u32, height: u32) -> Self {
        let (eye, at) = (vec3(3.2, 2.2, 8.5), vec3(0.1, 0.75, 0.0));
        let ahead = unit(plus(at, times(eye, -1.0)));
        let right = unit(vec3(-ahead.z, 0.0, ahead.x));
        let down = vec3(
            ahead.y * right.z - ahead.z * right.y,
            ahead.z * right.x - ahead.x * right.z,
            ahead.x * right.y - ahead.y * right.x,
        );
        let step = 0.62 / height as f32;
        let corner = plus(
            ahead,
            plus(
                times(right, -0.5 * step * width as f32),
                times(down, -0.5 * step * height as f32),
            ),
        );
        Self { eye, corner, right: times(right, step), down: times(down, step), width }
    }
}

/// The nearest surface that a ray meets.
#[device]
pub fn nearest(ray: Ray, scene: &Scene) -> Nearest {
    let mut found = Nearest { distance: 1e30, sphere: -2 };
    for k in 0..SPHERES {
        let distance = meets(ray.from, ray.to, scene.spheres[k]);
        if distance > 1e-3 && distance < found.distance {
            found = Nearest { distance, sphere: k as i32 };
        }
    }
    if ray.to.y < 0.0 {
        let distance = -ray.from.y / ray.to.y;
        if distance > 1e-3 && distance < found.distance {
            found = Nearest { distance, sphere: -1 };
        }
    }
    found
}

/// The colour of the ground: a board of squares.
#[device]
pub fn ground(at: Vec3, furnace: bool) -> Vec3 {
    if furnace {
        return vec3(1.0, 1.0, 1.0);
    }
    let dark = ((at.x * 1.25).floor() + (at.z * 1.25).floor()).rem_euclid(2.0) < 0.5;
    if dark { vec3(0.12, 0.16, 0.2) } else { vec3(0.82, 0.8, 0.76) }
}

/// The ray of a sample of a pixel.
#[device]
pub fn ray_of(pixel: u32, sample: u32, camera: &Camera) -> Ray {
    let seed = super::optics::next(
        pixel.wrapping_mul(0x9e37_79b9) ^ super::optics::next(sample.wrapping_mul(0x85eb_ca6b)),
    );
    let after = super::optics::next(seed);
    let x = (pixel % camera.width) as f32 + super::optics::uniform(seed);
    let y = (pixel / camera.width) as f32 + super::optics::uniform(after);
    let to = unit(plus(camera.corner, plus(times(camera.right, x), times(camera.down, y))));
    Ray {
        from: camera.eye,
        to,
        weight: vec3(1.0, 1.0, 1.0),
        pixel,
        seed: super::optics::next(after),
        bounces: 0,
    }
}
