use crate::sniper;
use crate::tale::{self, QUESTION};
use hermes_testkit::ModelServer;

#[tokio::test]
async fn trial() {
    if let Some(h) = sniper::hindrance().await { eprintln!("skip {h}"); return; }
    let server = ModelServer::directed(tale::next).await;
    let world = tale::stage(&server);
    let (ran, n) = sniper::count(&world, &["-z", QUESTION]).await;
    eprintln!("{} {:?} {:?} {}\n{}", n, ran.code, ran.wall, ran.stdout, ran.stderr);
    eprintln!("{:?}", tale::found(&world.work_dir()));
    eprintln!("{}", std::fs::read_to_string(world.home().join("writes")).unwrap_or_default().lines().take(6).collect::<Vec<_>>().join("\n"));
    let last = server.model_requests().last().unwrap().json()["messages"].clone();
    for m in last.as_array().unwrap() { eprintln!("{}", m.to_string().chars().take(400).collect::<String>()); }
    server.take_violations().iter().for_each(|v| eprintln!("VIOLATION {v}"));
    let server = ModelServer::directed(tale::next).await;
    let world = tale::stage(&server);
    let b = std::time::Instant::now();
    let ran = world.run(crate::HERMES, &["-z", QUESTION]).await;
    eprintln!("untraced {:?} {:?}", b.elapsed(), ran.code);
}
