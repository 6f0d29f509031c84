//! Skills in a conversation: those that come along, those a person calls, and those a model reads and writes.

use super::*;

/// The text of the last question in the first request.
fn question(server: &ModelServer) -> String {
    let messages = asked(server).remove(0);
    messages.as_array().and_then(|all| all.last()).and_then(|last| last["content"].as_str()).expect("text").to_owned()
}

/// The system prompt of a request.
fn told_before(server: &ModelServer, request: usize) -> String {
    server.model_requests()[request].json()["messages"][0]["content"].as_str().expect("text").to_owned()
}

#[tokio::test]
async fn a_model_loads_a_skill_and_writes_one() {
    let text = skill("rye-bread", "1. Feed the sourdough.");
    let server = ModelServer::start([
        Move::say("").call("skill_view", json!({"name": "make-a-skill"})),
        Move::say("").call(
            "skill_manage",
            json!({"action": "create", "name": "rye-bread", "category": "kitchen", "content": text}),
        ),
        Move::say("").call("skill_view", json!({"name": "rye-bread"})),
        Move::say("I will remember."),
        Move::say("Feed the sourdough."),
    ])
    .await;
    let world = home_at(&server);
    let ran = hermes(&world, &["-z", "remember how to bake bread"]).await;
    assert_eq!(told(&ran), (Some(0), "I will remember.\n", ""));
    assert_eq!(kept(&world, "skills/kitchen/rye-bread/SKILL.md"), text);
    let loaded: Value = serde_json::from_str(
        asked(&server)[1].as_array().expect("messages").last().expect("one")["content"].as_str().expect("text"),
    )
    .expect("JSON");
    assert_eq!(
        (&loaded["success"], &loaded["linked_files"]["templates"]),
        (&json!(true), &json!(["templates/SKILL.md"]))
    );
    assert!(told_before(&server, 0).contains("    - make-a-skill: "), "it came with the program");
    assert!((0..4).all(|request| !told_before(&server, request).contains("rye-bread")), "the list of this one stays");
    let ran = hermes(&world, &["-z", "bread?"]).await;
    assert_eq!(told(&ran), (Some(0), "Feed the sourdough.\n", ""));
    assert!(told_before(&server, 4).contains("    - rye-bread: How to make rye-bread.\n"));
    server.finish();
}

#[tokio::test]
async fn a_skill_is_called_by_its_name() {
    let server = ModelServer::start([Move::say("Yes."), Move::say("A path."), Move::say("Both.")]).await;
    let world = home_at(&server).file("skills/My Stew/SKILL.md", &skill("My Stew", "Simmer in ${HERMES_SKILL_DIR}."));
    let world = world.file("skills/My Stew/references/spices.md", "Bay leaf.\n");
    hermes(&world, &["-z", "/my_stew for four"]).await.expect_code(0);
    let folder = world.hermes_home().join("skills/My Stew").canonicalize().expect("a folder");
    let folder = folder.display();
    let expected = format!(
        "[The person calls the skill 'My Stew'. Follow it for what they say at the end.]\n\nSimmer in {folder}.\n\n[Folder of \
         this skill: {folder}. Paths in it are meant from there; run its scripts by their whole path.]\n\n\
         [skill_view(name=\"My Stew\", file_path=\"…\") reads one of its files:]\n- references/spices.md -> \
         {folder}/references/spices.md\n\nWhat the person says: for four"
    );
    assert_eq!(question(&server), expected);
    hermes(&world, &["-z", "/etc/hosts what is that"]).await.expect_code(0);
    assert_eq!(asked(&server)[1][0]["content"], "/etc/hosts what is that");
    hermes(&world, &["chat", "-q", "/my-stew /task-plan go", "-Q"]).await.expect_code(0);
    let both = asked(&server)[2][0]["content"].as_str().expect("text").to_owned();
    assert!(both.starts_with("[The person calls the skills 'My Stew', 'task-plan'."), "{both}");
    assert!(both.ends_with("What the person says: go"), "{both}");
    server.finish();
}

#[tokio::test]
async fn skills_are_loaded_with_the_question_and_bundles_hold_several() {
    let server = ModelServer::start([Move::say("Ready."), Move::say("All.")]).await;
    let world = home_at(&server)
        .file("skills/stew/SKILL.md", &skill("stew", "Simmer."))
        .file("skill-bundles/dinner.yaml", "name: Dinner\nskills: [stew, dessert]\ninstruction: For guests.\n");
    hermes(&world, &["-s", "stew", "-z", "cook"]).await.expect_code(0);
    let asked_first = question(&server);
    assert!(
        asked_first.starts_with("[The person loaded these skills for the whole conversation: stew."),
        "{asked_first}"
    );
    assert!(asked_first.ends_with("\n\ncook") && asked_first.contains("Simmer."), "{asked_first}");
    let ran = hermes(&world, &["-s", "stw", "-z", "cook"]).await.expect_code(2);
    assert!(ran.stderr.contains("There is no skill 'stw'"), "{}", ran.stderr);
    hermes(&world, &["-z", "/dinner tonight"]).await.expect_code(0);
    let bundle = asked(&server)[1][0]["content"].as_str().expect("text").to_owned();
    assert!(
        bundle.contains("the bundle 'Dinner' of the skills stew")
            && bundle.contains("[Not there, or switched off: dessert.]"),
        "{bundle}"
    );
    assert!(bundle.contains("For guests."), "{bundle}");
    server.finish();
}

#[tokio::test]
async fn commands_in_a_skill_are_text_unless_the_owner_says_so_and_then_go_through_the_gate() {
    let text = skill("stew", "Today: !`echo Mon''day`. Clean: !`rm -rf build`.");
    let server = ModelServer::start([Move::say("a"), Move::say("b")]).await;
    let world = home_at(&server).file("skills/stew/SKILL.md", &text);
    hermes(&world, &["-z", "/stew"]).await.expect_code(0);
    assert!(question(&server).contains("Today: !`echo Mon''day`."));
    let world =
        world.config(&format!("{}skills: {{inline_shell: true}}\n", settings(&server.base_url(), "chat_completions")));
    hermes(&world, &["-z", "/stew"]).await.expect_code(0);
    let said = asked(&server)[1][0]["content"].as_str().expect("text").to_owned();
    assert!(said.contains("Today: Monday."), "{said}");
    assert!(said.contains("[rm -rf build was not run or failed: "), "nobody was there to ask: {said}");
    server.finish();
}

#[tokio::test]
async fn who_looks_before_the_first_conversation_sees_what_comes_along() {
    let world = nowhere();
    let shown = skills(&world, &["view", "code-review"]).await.expect_code(0);
    assert!(shown.stdout.starts_with("---\nname: code-review\n"), "{}", shown.stdout);
    let missed = skills(&world, &["view", "code-reviw"]).await.expect_code(1);
    let told = "There is no skill 'code-reviw'. Did you mean 'code-review'? `hermes skills` shows all.\n";
    assert_eq!(missed.stderr, told);
    let world = nowhere();
    let listed = json_of(&world, &["list"]).await;
    assert_eq!(listed.as_array().map(Vec::len), Some(7));
}

#[tokio::test]
async fn what_comes_with_the_program_can_be_kept_away() {
    let server = ModelServer::start([Move::say("a"), Move::say("b")]).await;
    let world = home_at(&server);
    skills(&world, &["opt-out"]).await.expect_code(0);
    hermes(&world, &["-z", "hi"]).await.expect_code(0);
    assert!(!world.hermes_home().join("skills/basics").exists());
    skills(&world, &["opt-in", "--sync"]).await.expect_code(0);
    let listed = json_of(&world, &["list", "--source", "builtin"]).await;
    assert_eq!(listed.as_array().map(Vec::len), Some(7));
    fs::remove_dir_all(world.hermes_home().join("skills/basics/task-plan")).expect("deleted");
    hermes(&world, &["-z", "hi again"]).await.expect_code(0);
    let changed = json_of(&world, &["list-modified"]).await;
    assert_eq!(changed, json!([{"name": "task-plan", "state": "deleted"}]));
    skills(&world, &["reset", "task-plan", "--restore"]).await.expect_code(0);
    assert!(world.hermes_home().join("skills/basics/task-plan/SKILL.md").is_file());
    server.finish();
}

#[tokio::test]
async fn a_person_approves_what_the_model_wants_to_keep() {
    let text = skill("stew", "Simmer.");
    let server = ModelServer::start([
        Move::say("").call("skill_manage", json!({"action": "create", "name": "stew", "content": text})),
        Move::say("It waits for you."),
    ])
    .await;
    let world = home_at(&server);
    let world = world
        .config(&format!("{}skills: {{write_approval: true}}\n", settings(&server.base_url(), "chat_completions")));
    hermes(&world, &["-z", "remember this"]).await.expect_code(0);
    let waiting = json_of(&world, &["pending"]).await;
    let id = waiting[0]["id"].as_str().expect("an id").to_owned();
    assert!(!world.hermes_home().join("skills/stew").exists());
    let ran = skills(&world, &["approve", &id]).await.expect_code(0);
    assert!(ran.stdout.starts_with("The skill 'stew' is there."), "{}", ran.stdout);
    assert_eq!(kept(&world, "skills/stew/SKILL.md"), text);
    skills(&world, &["reject", &id]).await.expect_code(1);
    server.finish();
}
