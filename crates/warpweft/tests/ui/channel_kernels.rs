use warpweft::channels::flow::{Out, Shared, channel_kernel};

#[channel_kernel]
fn returns(n: u32) -> u32 {
    n
}

#[channel_kernel]
fn without_item() {}

#[channel_kernel]
fn item_by_reference(n: &u32, to: &mut Out<u32, 1>) {
    to.emit(*n);
}

#[channel_kernel]
fn out_by_value(n: u32, to: Out<u32, 1>) {
    to.emit(n);
}

#[channel_kernel]
fn out_is_not_mutable(n: u32, to: &Out<u32, 1>) {
    to.emit(n);
}

#[channel_kernel]
fn buffer_by_value(n: u32, words: Shared<u32>) {
    words.add(0, n);
}

#[channel_kernel]
fn buffer_is_mutable(n: u32, words: &mut Shared<u32>) {
    words.add(0, n);
}

#[channel_kernel]
fn constant_by_reference(n: u32, limit: &u32, to: &mut Out<u32, 1>) {
    to.emit(n);
}

#[channel_kernel]
fn without_bound(n: u32, to: &mut Out<u32>) {
    to.emit(n);
}

#[channel_kernel]
fn without_words(n: u32, words: &Shared) {
    words.add(0, n);
}

#[channel_kernel]
fn out_as_value(n: u32, to: &mut Out<u32, 1>) {
    let same = to;
}

#[channel_kernel]
fn buffer_as_value(n: u32, words: &Shared<u32>) {
    let same = words;
}

#[channel_kernel]
fn reads_an_output(n: u32, to: &mut Out<u32, 1>) {
    if to.items().len() < n as usize {
        to.emit(n);
    }
}

#[channel_kernel]
fn unknown_operation(n: u32, words: &Shared<u32>) {
    words.swap(0, n);
}

#[channel_kernel]
fn too_few_arguments(n: u32, words: &Shared<u32>) {
    words.add(n);
}

#[channel_kernel(most = 1)]
fn other_argument(n: u32, to: &mut Out<u32, 2>) {
    to.emit(n);
}

#[channel_kernel(total)]
fn total_of_nothing(n: u32, to: &mut Out<u32, 2>) {
    to.emit(n);
}

#[channel_kernel]
fn of_a_lifetime<'a>(n: u32, words: &'a Shared<u32>) {
    words.add(0, n);
}

fn main() {}
