//! Life against what is known of it, and against the straightforward loop.

use warpweft::prelude::*;
use warpweft::stencil::reference;
use warpweft_apps::plain::Plain;
use warpweft_apps::soup::SplitMix;
use warpweft_apps::{life, life3d};

/// Puts a picture of `#` and anything else at `[y, x]` of an empty world.
fn world(extents: [usize; 2], [y0, x0]: [usize; 2], picture: &[&str]) -> Volume<u8, 2> {
    let mut world = Volume::zeroed(extents).expect("a small world");
    for (y, row) in picture.iter().enumerate() {
        for (x, cell) in row.bytes().enumerate() {
            world.set([y0 + y, x0 + x], u8::from(cell == b'#'));
        }
    }
    world
}

fn run(world: &mut Volume<u8, 2>, boundary: Boundary, steps: u64) {
    let game = life::stencil().boundary(boundary);
    assert_eq!(reference(&game, world, steps).expect("a well-posed game"), steps);
}

fn population(world: &Volume<u8, 2>) -> usize {
    world.as_slice().iter().filter(|&&cell| cell == 1).count()
}

#[test]
fn a_glider_moves_one_cell_diagonally_in_four_steps_and_comes_round_a_torus() {
    let glider = [".#.", "..#", "###"];
    let mut moving = world([12, 12], [0, 0], &glider);
    let start = moving.clone();
    run(&mut moving, Boundary::Periodic, 4);
    assert_eq!(moving.as_slice(), world([12, 12], [1, 1], &glider).as_slice());
    run(&mut moving, Boundary::Periodic, 4 * 11);
    assert_eq!(moving.as_slice(), start.as_slice());
}

#[test]
fn gospers_gun_fires_a_glider_every_thirty_steps() {
    let gun = [
        "........................#...........",
        "......................#.#...........",
        "............##......##............##",
        "...........#...#....##............##",
        "##........#.....#...##..............",
        "##........#...#.##....#.#...........",
        "..........#.....#.......#...........",
        "...........#...#....................",
        "............##......................",
    ];
    let mut world = world([120, 140], [1, 1], &gun);
    let start = population(&world);
    assert_eq!(start, 36);
    for shots in 1..=5 {
        run(&mut world, Boundary::Dirichlet(0.0), 30);
        assert_eq!(population(&world), 36 + 5 * shots);
    }
}

#[test]
fn the_r_pentomino_settles_after_1103_steps_with_116_cells() {
    // Its gliders fly a cell in four steps and must not meet the edge: 620 cells are enough.
    let mut world = world([620, 620], [310, 310], &[".##", "##.", ".#."]);
    let machine = Machine::detect().expect("a machine");
    let game = life::stencil().boundary(Boundary::Dirichlet(0.0));
    let mut after = |steps| {
        game.run(&mut world, Steps(steps), &machine).expect("a well-posed game");
        population(&world)
    };
    assert_ne!(after(1102), 116);
    assert_eq!(after(1), 116);
    // Only blinkers and gliders move from now on.
    assert_eq!(after(12), 116);
}

#[test]
fn soups_agree_with_the_straightforward_loop_at_every_boundary() {
    let boundaries =
        [Boundary::Periodic, Boundary::Neumann, Boundary::Mirror, Boundary::Dirichlet(1.0)];
    for (seed, boundary) in boundaries.into_iter().enumerate() {
        let mut soup = SplitMix::new(seed as u64);
        let mut flat = Volume::from_fn([23, 31], |_| u8::from(soup.next_unit() < 0.4));
        let cells = flat.as_slice().iter().map(|&cell| f64::from(cell));
        let mut plain = Plain::new(&[23, 31], 1, &[[boundary; 2]; 2], cells);
        run(&mut flat, boundary, 40);
        let mut deep = Volume::from_fn([9, 10, 11], |_| u8::from(soup.next_unit() < 0.2));
        let cells = deep.as_slice().iter().map(|&cell| f64::from(cell));
        let mut plain3d = Plain::new(&[9, 10, 11], 1, &[[boundary; 2]; 3], cells);
        let game = life3d::stencil().boundary(boundary);
        assert_eq!(reference(&game, &mut deep, 12).expect("a well-posed game"), 12);
        (0..40).for_each(|_| plain.step(life::plain_step));
        (0..12).for_each(|_| plain3d.step(life3d::plain_step));
        let same = |cells: &[u8], plain: &Plain| {
            cells.iter().zip(plain.cells()).all(|(&a, b)| f64::from(a) == b)
        };
        assert!(same(flat.as_slice(), &plain), "{boundary:?}");
        assert!(same(deep.as_slice(), &plain3d), "{boundary:?} in three dimensions");
    }
}

#[test]
fn life3d_follows_its_rule_for_every_number_of_neighbours() {
    for alive in [0u8, 1] {
        for around in 0..=26u8 {
            let mut placed = 0;
            let cube = Volume::from_fn([3, 3, 3], |at| {
                if at == [1, 1, 1] {
                    return alive;
                }
                placed += 1;
                u8::from(placed <= around)
            });
            let mut after = cube.clone();
            reference(&life3d::stencil(), &mut after, 1).expect("a well-posed game");
            let expect = match (alive, around) {
                (1, 0..=1) => 0,
                (1, 8..) => 0,
                (1, _) => 1,
                (_, 5) => 1,
                _ => 0,
            };
            assert_eq!(after[[1, 1, 1]], expect, "cell {alive} with {around} neighbours");
        }
    }
}
