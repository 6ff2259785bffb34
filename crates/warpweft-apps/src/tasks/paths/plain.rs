//! The light of a pixel by a loop over its samples: no channels, no items.

use super::Paths;
use super::kernels::fixed;
use super::optics::{
    Ray, dot, next, plus, reflected, refracted, scattered, sky, times, tinted, uniform, vec3,
};
use super::scene::{Camera, Scene, ground, nearest, ray_of};

/// The light of `pixel`.
pub fn pixel(paths: &Paths, camera: &Camera, scene: &Scene, pixel: u32) -> [u32; 3] {
    let mut sums = [0u32; 3];
    for sample in 0..paths.samples {
        let light = light(ray_of(pixel, sample, camera), scene, paths.bounces);
        for (sum, light) in sums.iter_mut().zip(light) {
            *sum += light;
        }
    }
    sums
}

/// The light that a ray finds.
fn light(mut ray: Ray, scene: &Scene, bounces: u32) -> [u32; 3] {
    for _ in 0..=bounces {
        let found = nearest(ray, scene);
        if found.sphere == -2 {
            let light = tinted(ray.weight, sky(ray.to, scene.furnace));
            return [light.x, light.y, light.z].map(fixed);
        }
        ray.from = plus(ray.from, times(ray.to, found.distance));
        let sphere = usize::try_from(found.sphere).ok().map(|k| scene.spheres[k]);
        let (colour, mut normal, material) = match sphere {
            None => (ground(ray.from, scene.furnace), vec3(0.0, 1.0, 0.0), 0),
            Some(sphere) => {
                let away = plus(ray.from, times(sphere.centre, -1.0));
                (sphere.colour, times(away, 1.0 / sphere.radius), sphere.material)
            }
        };
        let leaves = sphere.is_some() && dot(normal, ray.to) > 0.0;
        if leaves {
            normal = times(normal, -1.0);
        }
        ray.weight = tinted(ray.weight, colour);
        match material {
            0 => {
                ray.to = scattered(normal, ray.seed);
                ray.seed = next(ray.seed ^ 0x5bd1_e995);
            }
            1 => ray.to = reflected(ray.to, normal),
            _ => {
                ray.to = refracted(ray.to, normal, leaves, uniform(ray.seed));
                ray.seed = next(ray.seed);
            }
        }
    }
    [0; 3]
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft::channels::flow::Run;
    use warpweft::channels::flow::cuda::compile_check;
    use warpweft::machine::Machine;
    use warpweft::run::Target;

    fn traced(paths: &Paths) -> Vec<u32> {
        let (graph, picture) = paths.graph().unwrap();
        let run = Run { target: Target::Cpu, ..Run::default() };
        let (results, _) = graph.run_with(&Machine::detect().unwrap(), &run).unwrap();
        results.buffer(picture)
    }

    #[test]
    fn channels_give_the_light_of_the_loop() {
        let of = Paths { size: [48, 27], samples: 5, bounces: 20, capacity: 100, furnace: false };
        let words = traced(&of);
        for pixel in 0..48 * 27 {
            assert_eq!(of.plain(pixel), words[3 * pixel as usize..][..3], "pixel {pixel}");
        }
        let mean = of.mean(&words);
        assert!((0.2..1.5).contains(&mean), "{mean}");
    }

    /// Energy is conserved: where nothing takes light and all of it is 1, everything looks like it (a white furnace).
    #[test]
    fn a_furnace_is_white_everywhere() {
        let of = Paths { size: [40, 30], samples: 4, bounces: 1000, capacity: 999, furnace: true };
        let words = traced(&of);
        let white = words.iter().filter(|&&word| word == 4 * 4096).count();
        // A few rays never leave glass, by total reflection.
        assert!(white * 100 >= words.len() * 99, "{white} of {} are white", words.len());
        assert!(words.iter().all(|&word| word <= 4 * 4096));
    }

    #[test]
    fn kernels_compile_for_ampere_and_hopper() {
        if let Err(error) = warpweft::cuda::compiler() {
            return println!("skipped: {error}");
        }
        let of = Paths { size: [9, 9], samples: 1, bounces: 9, capacity: 4096, furnace: false };
        for arch in ["sm_80", "sm_90"] {
            compile_check(&of.graph().unwrap().0, arch).unwrap();
        }
    }
}
