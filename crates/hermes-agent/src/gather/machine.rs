//! The machine, as far as the prompt tells about it.

use super::discover::on_one_line;
use hermes_core::prompt::{Commands, Machine, System};
use hermes_tools::settings::{Settings, Surroundings};
use std::env::consts::OS;
use std::path::Path;

const LOCAL: &str = "local";
/// Where Linux says who built it.
const KERNEL: &str = "/proc/sys/kernel/osrelease";

pub(super) fn of(settings: &Settings, cwd: &Path) -> Machine {
    let backend = settings.terminal.backend.trim();
    let is_here = backend.is_empty() || backend == LOCAL;
    Machine {
        system: system(&settings.around),
        commands: if is_here { Commands::Here } else { Commands::In(backend.to_owned()) },
        home: on_one_line(&settings.around.home),
        cwd: on_one_line(cwd),
    }
}

fn system(around: &Surroundings) -> System {
    let has = |name: &str, part: &str| around.variables.get(name).is_some_and(|value| value.contains(part));
    match OS {
        _ if has("TERMUX_VERSION", "") || has("PREFIX", "com.termux") => System::Termux,
        "linux" if has("WSL_DISTRO_NAME", "") || is_kernel_of_wsl() => System::Wsl,
        "linux" => System::Linux,
        "macos" => System::MacOs,
        "windows" => System::Windows,
        other => System::Other(other.to_owned()),
    }
}

fn is_kernel_of_wsl() -> bool {
    std::fs::read_to_string(KERNEL).is_ok_and(|release| release.to_lowercase().contains("microsoft"))
}
