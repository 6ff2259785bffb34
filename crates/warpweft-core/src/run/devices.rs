//! Chooses the devices of a run from its target and the machine. This is the one place where devices are
//! chosen; what a pattern does with them is not here.

use super::target::Target;
use super::{Pattern, Run};
use crate::cpu::{Pool, too_many};
use crate::error::{Error, Result};
use crate::machine::{Gpu, Machine};

/// What [`Target::Auto`] means for a pattern if there are usable GPUs. Without GPUs it means the cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auto {
    /// The first GPU.
    FirstGpu,
    /// All GPUs.
    AllGpus,
    /// All GPUs and all cores.
    Everything,
}

/// Which devices a policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suits {
    /// Any.
    Any,
    /// The cores.
    Cores,
    /// GPUs.
    Gpus,
}

/// What a run uses of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Devices<'m> {
    /// Number of threads on the cores; `None` if the cores do none of the work.
    pub threads: Option<usize>,
    /// The GPUs, in the requested order.
    pub gpus: Vec<&'m Gpu>,
    /// Whether [`Target::Auto`] chose the GPUs; then the pattern may leave some out.
    pub automatic: bool,
    /// Notes on the choice, for the report.
    pub notes: Vec<String>,
}

impl<'m> Devices<'m> {
    /// The cores instead of GPUs that turned out to be unusable, e.g. without NVRTC or with too little
    /// memory. This applies only if the target is [`Target::Auto`] and the policy is not one for GPUs. The
    /// report then gives the reason.
    ///
    /// # Errors
    /// `error` itself, if there is no other choice.
    pub fn instead<P: Pattern>(
        &self,
        error: Error,
        machine: &'m Machine,
        run: &Run<'_, P>,
    ) -> Result<Self> {
        let of_gpu = matches!(error, Error::Device { .. } | Error::Memory { .. });
        // A run that is to end does not begin anew.
        if run.stopped()
            || !(of_gpu && self.automatic && !self.gpus.is_empty() && run.policy.is_none())
        {
            return Err(error);
        }
        let mut notes = self.notes.clone();
        notes.push(format!("the GPU is not used: {error}"));
        let threads = Some(run.threads.unwrap_or_else(|| machine.cpu.threads()));
        Ok(Self { threads, gpus: Vec::new(), automatic: true, notes })
    }
}

impl<P: Pattern> Run<'_, P> {
    /// Whether its number of threads is one that can be.
    ///
    /// # Errors
    /// 0, or more than [`Pool::MOST`].
    pub fn check_threads(&self) -> Result<()> {
        match self.threads {
            Some(0) => {
                let help = "use at least 1, or leave them out for one per core";
                Err(Error::spec("0 threads", help))
            }
            Some(threads) if threads > Pool::MOST => Err(too_many(threads)),
            _ => Ok(()),
        }
    }

    /// The devices of `machine` that this run uses. If several ranks run together, `machine` is this rank's
    /// own part, and may lack GPUs that other ranks have.
    ///
    /// # Errors
    /// As [`Run::check_threads`]; a GPU that does not exist; a policy for other devices than the target.
    pub fn devices<'m>(&self, machine: &'m Machine) -> Result<Devices<'m>> {
        self.check_threads()?;
        let all = || machine.gpus.iter().collect::<Vec<_>>();
        let first = || machine.gpus.iter().take(1).collect::<Vec<_>>();
        let numbered = |number: usize| {
            let gpu = machine.gpus.iter().find(|gpu| gpu.ordinal == number);
            gpu.ok_or_else(|| no_gpu(self.target, machine))
        };
        let needed = |gpus: Vec<&'m Gpu>| match gpus.is_empty() && self.others().is_none() {
            true => Err(no_gpu(self.target, machine)),
            false => Ok(gpus),
        };
        let suits = self.policy.as_ref().map_or(Suits::Any, P::suits);
        let (cores, gpus) = match (self.target, suits) {
            (Target::Cpu, Suits::Gpus)
            | (Target::AnyGpu | Target::Gpu(_) | Target::Gpus(_) | Target::AllGpus, Suits::Cores) =>
            {
                let whose = if suits == Suits::Cores { "the cores" } else { "GPUs" };
                let what = format!("the policy is for {whose}, but the target is {}", self.target);
                return Err(Error::spec(what, "give a policy for that target, or none"));
            }
            (Target::Cpu, _) | (Target::Auto, Suits::Cores) => (true, Vec::new()),
            (Target::Auto, suits) => {
                let gpus = match P::AUTO {
                    Auto::FirstGpu => first(),
                    Auto::AllGpus | Auto::Everything => all(),
                };
                let gpus = if suits == Suits::Gpus { needed(gpus)? } else { gpus };
                (gpus.is_empty() || P::AUTO == Auto::Everything, gpus)
            }
            (Target::AnyGpu, _) => (false, needed(first())?),
            (Target::Gpu(number), _) => (false, vec![numbered(number)?]),
            (Target::Gpus(list), _) => {
                (false, list.numbers().map(numbered).collect::<Result<_>>()?)
            }
            (Target::AllGpus, _) => (false, needed(all())?),
            (Target::CpuAndGpu(number), _) => (true, vec![numbered(number)?]),
        };
        Ok(Devices {
            threads: cores.then(|| self.threads.unwrap_or_else(|| machine.cpu.threads())),
            gpus,
            automatic: self.target == Target::Auto,
            notes: Vec::new(),
        })
    }
}

/// The error for a requested GPU that does not exist.
fn no_gpu(target: Target, machine: &Machine) -> Error {
    // The machine's notes say why a GPU cannot be used, if that is known.
    let why = machine.notes.iter().find_map(|what| what.strip_prefix("no GPU: "));
    let why = why.map(|why| why.split_once(" on this machine: ").map_or(why, |(_, why)| why));
    let numbers: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal.to_string()).collect();
    Error::Device {
        stage: format!("choosing {target}"),
        device: "this machine".into(),
        what: match (numbers.is_empty(), why) {
            (true, Some(why)) => format!("no GPU can be used ({why})"),
            (true, None) => "no GPU can be used".into(),
            (false, _) => format!("its GPUs are gpu:{}", numbers.join(", gpu:")),
        },
        hint: "run on the cores (`--device cpu`), or see `warpweft info`".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use super::super::GpuList;
    use super::*;
    use crate::cluster::in_process;

    /// A pattern that takes the first GPU if `FIRST`, else everything. Its policies are the devices they
    /// suit.
    struct Toy<const FIRST: bool>;

    impl<const FIRST: bool> Pattern for Toy<FIRST> {
        type Policy = Suits;
        type Checkpoint = Infallible;
        type Settings<'a> = ();
        const AUTO: Auto = if FIRST { Auto::FirstGpu } else { Auto::Everything };
        fn suits(policy: &Suits) -> Suits {
            *policy
        }
    }

    type First<'a> = Run<'a, Toy<true>>;

    fn machine(gpus: &[usize]) -> Machine {
        let mut machine = Machine::detect().unwrap();
        machine.cpu.cores = vec![0, 1];
        let gpu = |&ordinal: &usize| Gpu {
            ordinal,
            name: "toy".into(),
            capability: (9, 0),
            sms: 1,
            memory: 1,
            l2_bytes: 1,
            shared_per_sm: 1,
            shared_per_block: 1,
            registers_per_sm: 1,
            threads_per_sm: 1,
            blocks_per_sm: 1,
            clock: 1.0,
            cooperative: true,
            links: Vec::new(),
        };
        machine.gpus = gpus.iter().map(gpu).collect();
        machine
    }

    /// Threads and numbers of GPUs.
    fn chosen<P: Pattern>(
        run: &Run<'_, P>,
        machine: &Machine,
    ) -> Option<(Option<usize>, Vec<usize>)> {
        let devices = run.devices(machine).ok()?;
        Some((devices.threads, devices.gpus.iter().map(|gpu| gpu.ordinal).collect()))
    }

    #[test]
    fn a_target_is_what_the_machine_has_of_it() {
        let (none, three) = (machine(&[]), machine(&[0, 2, 3]));
        let on = |target, machine| chosen(&First { target, ..Run::default() }, machine);
        let list = |numbers| Target::Gpus(GpuList::new(numbers).unwrap());
        assert_eq!(on(Target::Auto, &none), Some((Some(2), vec![])));
        assert_eq!(on(Target::Auto, &three), Some((None, vec![0])));
        assert_eq!(on(Target::Cpu, &three), Some((Some(2), vec![])));
        assert_eq!(on(Target::AnyGpu, &three), Some((None, vec![0])));
        assert_eq!(on(Target::Gpu(3), &three), Some((None, vec![3])));
        assert_eq!(on(list(&[3, 0]), &three), Some((None, vec![3, 0])));
        assert_eq!(on(Target::AllGpus, &three), Some((None, vec![0, 2, 3])));
        assert_eq!(on(Target::CpuAndGpu(2), &three), Some((Some(2), vec![2])));
        for target in [Target::Gpu(1), Target::CpuAndGpu(1), list(&[0, 1])] {
            assert_eq!(on(target, &three), None, "{target}");
        }
        for target in [Target::AnyGpu, Target::Gpu(0), Target::AllGpus, Target::CpuAndGpu(0)] {
            assert_eq!(on(target, &none), None, "{target}");
        }
        let everything = Run::<Toy<false>> { threads: Some(5), ..Run::default() };
        assert_eq!(chosen(&everything, &three), Some((Some(5), vec![0, 2, 3])));
        assert_eq!(chosen(&everything, &none), Some((Some(5), vec![])));
    }

    #[test]
    fn a_rank_may_have_no_gpu_of_all() {
        let none = machine(&[]);
        in_process(2, Duration::from_secs(10), |net| {
            let run = First { target: Target::AllGpus, net: Some(net), ..Run::default() };
            assert_eq!(chosen(&run, &none), Some((None, vec![])));
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn a_policy_says_where_auto_runs_and_is_refused_elsewhere() {
        let one = machine(&[0]);
        let with = |target, suits| First { target, policy: Some(suits), ..Run::default() };
        assert_eq!(chosen(&with(Target::Auto, Suits::Cores), &one), Some((Some(2), vec![])));
        assert_eq!(chosen(&with(Target::Auto, Suits::Gpus), &one), Some((None, vec![0])));
        assert_eq!(chosen(&with(Target::Auto, Suits::Gpus), &machine(&[])), None);
        let refused = [(Target::Cpu, Suits::Gpus), (Target::Gpu(0), Suits::Cores)];
        for (target, suits) in refused {
            let told = with(target, suits).devices(&one).unwrap_err().to_string();
            assert!(told.contains(&target.to_string()), "{told}");
        }
    }

    #[test]
    fn no_threads_are_refused_with_what_to_do() {
        let run = First { threads: Some(0), ..Run::default() };
        let error = run.devices(&machine(&[])).unwrap_err();
        assert!(matches!(&error, Error::Spec { hint, .. } if hint.contains("at least 1")));
    }

    #[test]
    fn the_cores_stand_in_only_for_gpus_that_nobody_named() {
        let one = machine(&[0]);
        let fault = || Error::Device {
            stage: "compiling".into(),
            device: "GPU 0".into(),
            what: "no NVRTC".into(),
            hint: "install it".into(),
        };
        let run = First::default();
        let cores = run.devices(&one).unwrap().instead(fault(), &one, &run).unwrap();
        assert_eq!((cores.threads, cores.gpus.len(), cores.notes.len()), (Some(2), 0, 1));
        assert!(cores.instead(fault(), &one, &run).is_err());
        let named = First { target: Target::Gpu(0), ..Run::default() };
        assert!(named.devices(&one).unwrap().instead(fault(), &one, &named).is_err());
        let spec = Error::spec("0 rows", "give some");
        assert!(run.devices(&one).unwrap().instead(spec, &one, &run).is_err());
    }
}
