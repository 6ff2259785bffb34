//! Random functions of the subset on a GPU, against what Rust computed for them, bit by bit.
//!
//! `translation_random` writes the functions, their translation and the answers; this test takes
//! the shards that lie in `WARPWEFT_RANDOM_OUT` (or where that test leaves them), so that they can
//! be carried to a machine without a Rust compiler. `cargo xtask gpu-test` does both, with 10,000
//! functions. Where `WARPWEFT_NEED_GPU` is set, no functions, or fewer than
//! `WARPWEFT_RANDOM_FUNCTIONS`, are a failure.

use std::path::{Path, PathBuf};

use warpweft::cuda::{
    Args, Buffer, Cache, Cubin, Device, Launch, Module, Options, Request, Stream, available,
    compile_all, compiler,
};

/// Threads a block.
const THREADS: u32 = 64;

struct Shard {
    source: String,
    entries: Vec<Entry>,
}

/// One function; the file's form is described in `translation_support/cases.cuh`.
struct Entry {
    name: String,
    count: usize,
    in_bytes: usize,
    out_bytes: usize,
    inputs: Vec<u8>,
    expected: Vec<u8>,
}

fn folder() -> PathBuf {
    let named = std::env::var("WARPWEFT_RANDOM_OUT").map(PathBuf::from);
    named.unwrap_or_else(|_| Path::new(env!("CARGO_TARGET_TMPDIR")).join("translation/random"))
}

fn shards(folder: &Path) -> Vec<Shard> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| {
            let source = std::fs::read_to_string(path.join("source.cu")).ok()?;
            Some(Shard { source, entries: parse(&std::fs::read(path.join("cases.bin")).ok()?) })
        })
        .collect()
}

fn parse(mut bytes: &[u8]) -> Vec<Entry> {
    fn take<'a>(bytes: &mut &'a [u8], n: usize) -> &'a [u8] {
        let (head, rest) = bytes.split_at(n);
        *bytes = rest;
        head
    }
    fn word(bytes: &mut &[u8]) -> usize {
        take(bytes, 4).iter().rev().fold(0, |word, &byte| word << 8 | usize::from(byte))
    }
    let entries = word(&mut bytes);
    let one = |_| {
        let [count, in_bytes, out_bytes, name] = [(); 4].map(|()| word(&mut bytes));
        let name = String::from_utf8_lossy(take(&mut bytes, name)).into_owned();
        let inputs = take(&mut bytes, count * in_bytes).to_vec();
        let expected = take(&mut bytes, count * (out_bytes + 1)).to_vec();
        Entry { name, count, in_bytes, out_bytes, inputs, expected }
    };
    (0..entries).map(one).collect()
}

/// How many functions are asked for.
fn wanted() -> usize {
    std::env::var("WARPWEFT_RANDOM_FUNCTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Whether there is something to run; an error where a GPU's run `needed` more.
fn enough(found: usize, folder: &Path, needed: bool, wanted: usize) -> Result<bool, String> {
    if needed && found < wanted.max(1) {
        let folder = folder.display();
        return Err(format!("{found} functions in {folder}, {} are needed", wanted.max(1)));
    }
    Ok(found > 0)
}

#[test]
fn a_gpu_run_without_its_functions_fails() {
    let nowhere = Path::new("/no/such/folder");
    let found = shards(nowhere).len();
    assert_eq!(enough(found, nowhere, false, 10_000), Ok(false));
    assert!(enough(found, nowhere, true, 0).unwrap_err().contains("0 functions in /no/such"));
    assert!(enough(9_999, nowhere, true, 10_000).is_err());
    assert_eq!(enough(10_000, nowhere, true, 10_000), Ok(true));
}

/// Inputs of `entry` whose answers on the device differ from Rust's.
fn differing(module: &Module, stream: &Stream, entry: &Entry) -> Vec<usize> {
    let stride = entry.out_bytes + 1;
    let inputs = Buffer::from_slice(stream, &entry.inputs).unwrap();
    let answers = Buffer::zeroed(stream, entry.count * stride).unwrap();
    let kernel = module.kernel(&entry.name).unwrap();
    let mut args = Args::new();
    args.buffer(&inputs);
    args.buffer(&answers);
    for number in [entry.count, entry.in_bytes, entry.out_bytes] {
        args.value(number as u32);
    }
    let launch = Launch::line((entry.count as u32).div_ceil(THREADS), THREADS);
    // SAFETY: the buffers hold `count` inputs and answers of the sizes given, as the entry reads
    // and writes, and outlive the launch, which `download` waits for.
    unsafe { stream.launch(&kernel, launch, &args).unwrap() };
    let mut found = vec![0u8; entry.count * stride];
    stream.download(&answers, 0, &mut found).unwrap();
    let pairs = found.chunks_exact(stride).zip(entry.expected.chunks_exact(stride));
    pairs
        .enumerate()
        .filter(|(_, (found, expected))| match expected[0] {
            0 => found != expected,
            _ => found[0] == 0,
        })
        .map(|(input, _)| input)
        .collect()
}

/// The machine code of all shards, without contraction.
fn compile(shards: &[Shard], arch: &str) -> Vec<Cubin> {
    let requests: Vec<_> = shards
        .iter()
        .enumerate()
        .map(|(i, shard)| Request {
            name: format!("shard {i}"),
            source: shard.source.clone(),
            arch: arch.into(),
            options: Options::default(),
        })
        .collect();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    compile_all(&Cache::none(), &requests, threads)
        .into_iter()
        .map(|cubin| cubin.unwrap())
        .collect()
}

#[test]
fn random_functions_mean_the_same_on_a_gpu() {
    let needed = std::env::var_os("WARPWEFT_NEED_GPU").is_some();
    if let Err(error) = available().and_then(|()| compiler()) {
        assert!(!needed, "{error}");
        return println!("skipped: {error}");
    }
    let folder = folder();
    let shards = shards(&folder);
    let found = shards.iter().map(|shard| shard.entries.len()).sum();
    match enough(found, &folder, needed, wanted()) {
        Ok(true) => {}
        Ok(false) => {
            return println!(
                "skipped: no functions in {}; run translation_random",
                folder.display()
            );
        }
        Err(error) => panic!("{error}"),
    }
    let device = Device::open(0).unwrap();
    let stream = Stream::new(&device).unwrap();
    let (mut functions, mut runs, mut wrong) = (0, 0, vec![]);
    for (i, cubin) in compile(&shards, &device.arch().unwrap()).iter().enumerate() {
        let module = Module::load(&device, cubin).unwrap();
        for entry in &shards[i].entries {
            let differing = differing(&module, &stream, entry);
            functions += 1;
            runs += entry.count;
            if !differing.is_empty() {
                wrong.push(format!("shard {i}, {}: inputs {differing:?}", entry.name));
            }
        }
    }
    println!("{functions} functions, {runs} runs, {} functions differ", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
