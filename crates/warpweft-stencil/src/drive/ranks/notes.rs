//! What ranks want the user to know: each thing once, with the ranks that say it. Not: how it gets to rank 0.

/// The notes of all ranks, in the order of the first that has each; what all say is nobody's in particular.
pub(crate) fn joined(told: &[Vec<String>]) -> Vec<String> {
    let mut all: Vec<(&String, Vec<usize>)> = Vec::new();
    for (rank, notes) in told.iter().enumerate() {
        for note in notes {
            match all.iter_mut().find(|(known, _)| *known == note) {
                None => all.push((note, vec![rank])),
                Some((_, ranks)) if ranks.last() == Some(&rank) => {}
                Some((_, ranks)) => ranks.push(rank),
            }
        }
    }
    let said = |(note, ranks): (&String, Vec<usize>)| match ranks.len() {
        all if all == told.len() => note.clone(),
        1 => format!("rank {}: {note}", ranks[0]),
        _ => format!("ranks {}: {note}", listed(&ranks)),
    };
    all.into_iter().map(said).collect()
}

/// Ascending numbers, three or more that follow one another as a range: `0, 2 to 5`.
fn listed(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{first} to {last}")],
        few => few.iter().map(ToString::to_string).collect(),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn equal_notes_are_said_once_with_the_ranks_they_are_of() {
        let notes_of = |all: &[&[&str]]| -> Vec<Vec<String>> {
            all.iter().map(|notes| notes.iter().map(|note| note.to_string()).collect()).collect()
        };
        let two_hosts = notes_of(&[
            &["no MPI", "busy"],
            &["no MPI", "busy"],
            &["no MPI", "slow", "slow"],
            &["no MPI", "busy"],
            &["no MPI", "busy"],
            &["no MPI", "busy"],
        ]);
        let expect = ["no MPI", "ranks 0, 1, 3 to 5: busy", "rank 2: slow"];
        assert_eq!(joined(&two_hosts), expect);
        assert_eq!(joined(&notes_of(&[&["alone"]])), ["alone"]);
        assert!(joined(&notes_of(&[&[], &[]])).is_empty());
    }
}
