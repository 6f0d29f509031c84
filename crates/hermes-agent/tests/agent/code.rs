//! A model that writes a script instead of making one call after another.

use crate::stage::{MODES, Stage, told};
use hermes_core::store::Ledger as _;
use hermes_testkit::{ModelServer, Move};
use hermes_types::{Event, OutcomeKind};
use serde_json::{Value, json};

const SCRIPT: &str = "from hermes_tools import read_file, write_file, terminal
lines = [read_file(name)['content'].split('|', 1)[1].strip() for name in ('a.txt', 'b.txt')]
write_file('both.txt', ' and '.join(lines) + '\\n')
print(terminal('wc -w < both.txt')['output'].strip(), terminal('rm -rf .')['status'])
";

#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_one_call_with_one_result_and_costs_no_step() {
    for mode in MODES {
        let server = ModelServer::start([
            Move::say("").call("execute_code", json!({ "code": SCRIPT })),
            Move::say("Three words."),
        ])
        .await;
        let stage = Stage::at(&server, mode).await;
        stage.write("a.txt", "here\n");
        stage.write("b.txt", "there\n");
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "How many words?").await;
        let history = told(&stage.on_disk(agent.session()).await);
        assert_eq!((outcome.kind(), outcome.iterations), (OutcomeKind::Answered, 1), "{mode:?}: {history:?}");
        assert_eq!(outcome.tool_calls, 1, "calls of a script are no calls of the model");
        assert_eq!(stage.read("both.txt"), "here and there\n");
        assert_eq!(history.len(), 4, "question, call, result, answer: {history:?}");
        let result = history[2].strip_prefix("execute_code: ").expect("the result of the script");
        let result: Value = serde_json::from_str(result).unwrap();
        assert_eq!((&result["output"], &result["tool_calls_made"]), (&json!("3 blocked\n"), &json!(5)), "{result:#}");
        let seen: Vec<String> = stage
            .events()
            .iter()
            .filter_map(|event| match event {
                Event::ToolFinished { name, status, .. } => Some(format!("{name}: {status:?}")),
                _ => None,
            })
            .collect();
        assert_eq!(seen.len(), 6, "people see what a script does: {seen:?}");
        assert_eq!(seen[4..], ["terminal: Blocked", "execute_code: Done"]);
        assert_eq!(stage.store.open_effects(agent.session()).await.unwrap(), [], "nothing is left to ask about");
        server.finish();
    }
}
