use xoff_run::Scenario;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let s = Scenario::load(std::path::Path::new(&a[1]), &[]).map_err(|_| ()).unwrap();
    let mut m = s.model();
    let mut w = xoff_sim::World::build(&s.topology, s.flows.clone(), &mut m).unwrap();
    let warm: u64 = a[2].parse().unwrap();
    let t = cpu_time::ThreadTime::now();
    w.run(s.until, warm);
    println!("run {} events {:.1} ns/event", w.events(), t.elapsed().as_nanos() as f64 / w.events() as f64);
    w.trace_queue(4_000_000);
    let e=w.events();
    w.run(s.until, 2_000_000);
    let tr = w.take_queue_trace().unwrap();
    let e2=w.events();
    let t = cpu_time::ThreadTime::now();
    w.run(s.until, 2_000_000);
    println!("traced {} then {:.1} ns/event", e2-e, t.elapsed().as_nanos() as f64 / (w.events()-e2) as f64);
    for _ in 0..4 { let r = tr.replay(); println!("replay {} events {:.2} ns/event", r.events, r.cpu.as_nanos() as f64 / r.events as f64); }
}
