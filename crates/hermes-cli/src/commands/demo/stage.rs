//! Where `hermes demo` plays: a folder with a home and a small project, made for one run and gone behind it.
//!
//! Nothing of the person is read or written. Of their environment only what programs need in order to be found and to print
//! is passed on.

use super::player::Player;
use crate::app::App;
use crate::commands::Trouble;
use crate::settings::disk::DiskError;
use crate::settings::{Environment, Root};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// `approvals.mode`: nobody sits here, and the stand-in is not asked for advice about itself.
const CONFIG: &str = "\
model:
  provider: custom:demo
  default: stand-in
custom_providers:
  - name: demo
    base_url: http://demo.invalid/v1
    api_mode: chat_completions
approvals:
  mode: manual
";

/// The project. `.git` is empty: it only says that the project ends here, whatever lies above it.
const FILES: [(&str, &str); 7] = [
    ("project/.git/HEAD", ""),
    (
        "project/README.md",
        "# Corner bakery\n\nThe orders of the week are in `orders.csv`; `bash report.sh` adds them up.\n",
    ),
    (
        "project/orders.csv",
        "who,what,pieces\nAda,rye bread,2\nBen,rolls,12\nCleo,apple cake,1\nDan,rolls,6\nEve,rye bread,3\n",
    ),
    ("project/report.sh", REPORT),
    ("project/build/report.html", "<p>5 orders, 24 pieces</p>\n"),
    ("project/build/todo.txt", "Ask Ada whether the rye bread is for Friday.\n"),
    ("home/config.yaml", CONFIG),
];

const REPORT: &str = "\
# Adds up the orders of the week.
orders=0
pieces=0
{
  read -r header
  while IFS=, read -r who what count; do
    orders=$((orders + 1))
    pieces=$((pieces + count))
  done
} < orders.csv
echo \"$orders orders, $pieces pieces\"
";

/// Variables that children get as they are.
const PASSED_ON: [&str; 4] = ["PATH", "LANG", "LC_ALL", "TERM"];

pub(super) struct Stage {
    folder: TempDir,
}

impl Stage {
    pub(super) fn build() -> Result<Self, Trouble> {
        let place = std::env::temp_dir();
        let failed = |path: &Path, reason| Trouble::from(DiskError::Write { path: path.to_owned(), reason });
        let folder = tempfile::Builder::new().prefix("hermes-demo-").tempdir();
        let folder = folder.map_err(|reason| failed(&place, reason))?;
        let stage = Self { folder };
        for (name, text) in FILES {
            let path = stage.path(name);
            let folder = path.parent().unwrap_or(&place);
            let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
            written.map_err(|reason| failed(&path, reason))?;
        }
        let temporary = stage.path("tmp");
        std::fs::create_dir(&temporary).map_err(|reason| failed(&temporary, reason))?;
        Ok(stage)
    }

    /// The program as it would be for somebody who lives on this stage.
    pub(super) async fn app(&self, player: Player) -> Result<App, Trouble> {
        let home = Root::at(self.path("home")).default_home();
        let passed_on = PASSED_ON.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
        let own = [
            ("HOME", "home"),
            ("HERMES_HOME", "home"),
            ("TMPDIR", "tmp"),
            // No administrator has settled anything here.
            ("HERMES_MANAGED_DIR", "nowhere"),
        ];
        let own = own.map(|(name, place)| (name.to_owned(), self.path(place).display().to_string()));
        let environment = Environment::with_process(&home, passed_on.chain(own).collect());
        App::at(home, environment, self.path("project"), Arc::new(player), None).await
    }

    /// Takes everything away; tells where it could not.
    pub(super) fn strike(self) -> Result<(), String> {
        let place = self.folder.path().display().to_string();
        self.folder.close().map_err(|error| format!("{place} could not be removed: {error}"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
