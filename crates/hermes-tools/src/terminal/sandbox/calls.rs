//! System calls that are refused inside, as a filter of the kernel.
//!
//! Files are not its business. It refuses sockets the other keepers cannot judge, ways around it (`io_uring` makes
//! sockets without the call for it), typing into the terminal of somebody else, and what only root could do to the
//! kernel. Everything refused is "operation not permitted", so that programs go on with what they do without.

use super::policy::Network;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::io;

/// Refused whatever they are asked for.
const NEVER: [(libc::c_long, &str); 9] = [
    (libc::SYS_io_uring_setup, "makes sockets that no filter sees"),
    (libc::SYS_init_module, "code in the kernel"),
    (libc::SYS_finit_module, "code in the kernel"),
    (libc::SYS_delete_module, "code out of the kernel"),
    (libc::SYS_kexec_load, "another kernel"),
    (libc::SYS_bpf, "code in the kernel"),
    (libc::SYS_perf_event_open, "watches the kernel and other programs"),
    (libc::SYS_reboot, "ends everything"),
    (libc::SYS_open_by_handle_at, "opens files without a path"),
];
/// Requests to a terminal that put characters into its input, as if the person had typed them.
const TYPING: [u64; 2] = [libc::TIOCSTI as u64, 0x541C];

/// Which sockets are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Local ones: behind them sit programs outside (docker, a session bus) that would write in our place, and nothing
    /// else keeps a command from asking them.
    Local,
    All,
    /// Namespaces keep all others apart.
    ToTheHost,
    None,
}

impl Sockets {
    pub(super) fn of_kernel(network: Network) -> Self {
        match network {
            Network::Open => Self::Local,
            Network::Closed => Self::All,
        }
    }

    pub(super) fn of_namespace(network: Network) -> Self {
        match network {
            Network::Open => Self::None,
            Network::Closed => Self::ToTheHost,
        }
    }
}

/// Whether this machine's calls are known to the filter.
pub(super) fn probe() -> io::Result<()> {
    program(Sockets::All).map(drop)
}

/// Refuses them to the calling thread and all that it starts.
pub(super) fn refuse(sockets: Sockets) -> io::Result<()> {
    seccompiler::apply_filter(&program(sockets)?).map_err(io::Error::other)
}

fn program(sockets: Sockets) -> io::Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let rules = rules(sockets).map_err(io::Error::other)?;
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).map_err(io::Error::other)?;
    BpfProgram::try_from(filter).map_err(io::Error::other)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(sockets: Sockets) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = NEVER.iter().map(|(call, _)| (*call, Vec::new())).collect();
    let typing = TYPING.iter().map(|request| when(1, *request)).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_ioctl, typing);
    let family = |family: libc::c_int| when(0, u64::from(family.unsigned_abs()));
    let of_sockets = match sockets {
        Sockets::None => None,
        Sockets::All => Some(Vec::new()),
        Sockets::Local => Some(vec![family(libc::AF_UNIX)?, family(libc::AF_VSOCK)?]),
        Sockets::ToTheHost => Some(vec![family(libc::AF_VSOCK)?]),
    };
    if let Some(conditions) = of_sockets {
        rules.insert(libc::SYS_socket, conditions);
    }
    Ok(with_other_numbers(rules))
}

fn when(argument: u8, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?])
}

/// A 64-bit kernel for Intel may know every call by a second number, for programs with short pointers. Calls of another
/// architecture end the program; these would be let through.
#[cfg(target_arch = "x86_64")]
fn with_other_numbers(rules: Rules) -> Rules {
    const SHORT_POINTERS: i64 = 0x4000_0000;
    const IOCTL: i64 = 514;
    let others = rules.clone().into_iter().map(|(call, conditions)| {
        let call = if call == libc::SYS_ioctl { IOCTL } else { call };
        (call | SHORT_POINTERS, conditions)
    });
    let others: Rules = others.collect();
    rules.into_iter().chain(others).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn with_other_numbers(rules: Rules) -> Rules {
    rules
}
