//! A path tracer: light is followed from the eye back to the sky, by way of a channel for each material.
//!
//! Rays that meet one material are collected in its channel, so that a warp computes one material at a time (Laine,
//! Karras and Aila, "Megakernels considered harmful: wavefront path tracing on GPUs", HPG 2013).

mod kernels;
mod optics;
mod plain;
mod scene;

use warpweft::channels::flow::{BufferId, FlowGraph};
use warpweft::error::{Error, Result};
use warpweft::grid::io::Picture;

use kernels::{MOST, ONE, Pixel, from_glass, from_matte, from_mirror, shoot, trace};
use scene::{Camera, Scene};

/// The most samples of a pixel: their light fits into a word.
const SAMPLES: u32 = (u32::MAX as f64 / (MOST * ONE) as f64) as u32;

/// A picture to be computed.
#[derive(Clone, Copy, Debug)]
pub struct Paths {
    /// Columns and rows of pixels.
    pub size: [u32; 2],
    /// Rays of a pixel.
    pub samples: u32,
    /// Surfaces that a ray meets at most.
    pub bounces: u32,
    /// Rays at once.
    pub capacity: usize,
    /// Whether all light is 1 and nothing takes any of it: then the picture is 1 where no ray is given up.
    pub furnace: bool,
}

impl Paths {
    /// Whether it can be computed.
    ///
    /// # Errors
    /// No pixels, or more than 2^24; no samples, or more than 65535; no bounces.
    pub fn check(&self) -> Result<()> {
        let [width, height] = self.size;
        let pixels = u64::from(width) * u64::from(height);
        if !(1..=1 << 24).contains(&pixels) {
            let what = format!("a picture of {width} x {height} pixels");
            return Err(Error::spec(what, "take 1 to 16777216 pixels"));
        }
        if !(1..=SAMPLES).contains(&self.samples) {
            let what = format!("{} samples a pixel", self.samples);
            return Err(Error::spec(what, format!("take 1 to {SAMPLES}")));
        }
        if !(1..=1000).contains(&self.bounces) {
            return Err(Error::spec(format!("{} bounces", self.bounces), "take 1 to 1000"));
        }
        Ok(())
    }

    /// The graph, and the buffer of the light of each pixel: red, green, blue.
    ///
    /// # Errors
    /// As [`Paths::check`].
    pub fn graph(&self) -> Result<(FlowGraph, BufferId<u32>)> {
        self.check()?;
        let [width, height] = self.size;
        let mut graph = FlowGraph::new();
        let pixels = graph.channel("pixels", self.capacity);
        let rays = graph.channel("rays", self.capacity);
        let [matte, mirror, glass] =
            ["matte", "mirror", "glass"].map(|name| graph.channel(name, self.capacity));
        let picture = graph.buffer(vec![0u32; 3 * (width * height) as usize]);
        graph.connect(pixels, shoot(self.camera(), pixels, rays));
        let scene = Scene::new(self.furnace);
        graph.connect(rays, trace(scene, self.bounces, matte, mirror, glass, picture));
        graph.connect(matte, from_matte(rays));
        graph.connect(mirror, from_mirror(rays));
        graph.connect(glass, from_glass(rays));
        let samples = self.samples;
        graph.put(pixels, (0..width * height).map(|pixel| Pixel { pixel, samples }));
        Ok((graph, picture))
    }

    fn camera(&self) -> Camera {
        Camera::new(self.size[0], self.size[1])
    }

    /// The light of one pixel by a plain loop over its samples: what the graph gives, to the bit.
    pub fn plain(&self, pixel: u32) -> [u32; 3] {
        plain::pixel(self, &self.camera(), &Scene::new(self.furnace), pixel)
    }

    /// The mean light of a picture's words.
    pub fn mean(&self, words: &[u32]) -> f64 {
        let sum: f64 = words.iter().map(|&word| f64::from(word)).sum();
        sum / (words.len() as f64 * f64::from(ONE) * f64::from(self.samples))
    }

    /// The picture as it is looked at: bright light is compressed, and made for screens.
    ///
    /// # Errors
    /// Too little memory.
    pub fn picture(&self, words: &[u32]) -> Result<Picture> {
        let [width, height] = self.size;
        let mut picture = Picture::filled(width as usize, height as usize, [0; 3])?;
        let scale = 1.0 / (f64::from(ONE) * f64::from(self.samples));
        for (pixel, light) in picture.pixels.iter_mut().zip(words.chunks_exact(3)) {
            let shown = |word: u32| {
                let light = f64::from(word) * scale * 1.15;
                // Hejl and Burgess-Dawson's curve, which includes that of screens.
                let x = (light - 0.004).max(0.0);
                let y = x * (6.2 * x + 0.5) / (x * (6.2 * x + 1.7) + 0.06);
                (y * 255.0 + 0.5) as u8
            };
            *pixel = [shown(light[0]), shown(light[1]), shown(light[2])];
        }
        Ok(picture)
    }
}
