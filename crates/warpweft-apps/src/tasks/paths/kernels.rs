//! The kernels of the graph: the camera, what a ray meets, and one for each material.

use warpweft::channels::flow::{Out, Shared, channel_kernel};
use warpweft::prelude::*;

use super::optics::{
    Hit, Ray, Vec3, next, plus, reflected, refracted, scattered, sky, times, tinted, uniform,
};
use super::scene::{Camera, Scene, ground, nearest, ray_of};

/// A pixel and the samples of it that are left.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
pub struct Pixel {
    pub pixel: u32,
    pub samples: u32,
}

/// Light of 1 as a picture's word has it, and the most of one sample.
pub const ONE: f32 = 4096.0;
pub const MOST: f32 = 16.0;

/// Light as a picture's word: exact sums in any order.
#[device]
pub fn fixed(light: f32) -> u32 {
    (light.min(MOST) * ONE) as u32
}

/// Sends one ray of a pixel, and comes back for the next.
#[channel_kernel]
pub fn shoot(at: Pixel, camera: Camera, pixels: &mut Out<Pixel, 1>, rays: &mut Out<Ray, 1>) {
    rays.emit(ray_of(at.pixel, at.samples - 1, &camera));
    if at.samples > 1 {
        pixels.emit(Pixel { pixel: at.pixel, samples: at.samples - 1 });
    }
}

/// Follows a ray to the material that it meets, or adds the light of the sky to the picture.
#[channel_kernel(total = 1)]
pub fn trace(
    ray: Ray,
    scene: Scene,
    bounces: u32,
    matte: &mut Out<Hit, 1>,
    mirror: &mut Out<Hit, 1>,
    glass: &mut Out<Hit, 1>,
    picture: &Shared<u32>,
) {
    let found = nearest(ray, &scene);
    if found.sphere == -2 {
        let light = tinted(ray.weight, sky(ray.to, scene.furnace));
        let at = ray.pixel as usize * 3;
        picture.add(at, fixed(light.x));
        picture.add(at + 1, fixed(light.y));
        picture.add(at + 2, fixed(light.z));
        return;
    }
    if ray.bounces >= bounces {
        return;
    }
    let from = plus(ray.from, times(ray.to, found.distance));
    if found.sphere == -1 {
        let weight = tinted(ray.weight, ground(from, scene.furnace));
        let normal = Vec3 { x: 0.0, y: 1.0, z: 0.0 };
        matte.emit(Hit { ray: Ray { from, weight, ..ray }, normal, leaves: false });
        return;
    }
    let sphere = scene.spheres[found.sphere as usize];
    let outward = times(plus(from, times(sphere.centre, -1.0)), 1.0 / sphere.radius);
    let leaves = super::optics::dot(outward, ray.to) > 0.0;
    let normal = if leaves { times(outward, -1.0) } else { outward };
    let weight = tinted(ray.weight, sphere.colour);
    let hit = Hit { ray: Ray { from, weight, ..ray }, normal, leaves };
    match sphere.material {
        0 => matte.emit(hit),
        1 => mirror.emit(hit),
        _ => glass.emit(hit),
    }
}

/// A matte surface sends light everywhere.
#[channel_kernel]
pub fn from_matte(hit: Hit, rays: &mut Out<Ray, 1>) {
    let to = scattered(hit.normal, hit.ray.seed);
    let seed = next(hit.ray.seed ^ 0x5bd1_e995);
    rays.emit(Ray { to, seed, bounces: hit.ray.bounces + 1, ..hit.ray });
}

/// A mirror sends it back.
#[channel_kernel]
pub fn from_mirror(hit: Hit, rays: &mut Out<Ray, 1>) {
    let to = reflected(hit.ray.to, hit.normal);
    rays.emit(Ray { to, bounces: hit.ray.bounces + 1, ..hit.ray });
}

/// Glass lets it through, or sends it back.
#[channel_kernel]
pub fn from_glass(hit: Hit, rays: &mut Out<Ray, 1>) {
    let to = refracted(hit.ray.to, hit.normal, hit.leaves, uniform(hit.ray.seed));
    let seed = next(hit.ray.seed);
    rays.emit(Ray { to, seed, bounces: hit.ray.bounces + 1, ..hit.ray });
}
