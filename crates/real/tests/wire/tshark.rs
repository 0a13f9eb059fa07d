//! An outside judge: tshark reads one frame of every kind, ours with the dissector in
//! `docs/wire/xoff.lua`.
//!
//! Without a tshark that runs Lua the test is skipped (`xoff_testing::skip`).

use std::path::Path;
use std::process::Command;

use xoff_farm::frames::frames;

/// Classic capture file, link type 1 (Ethernet), one frame per microsecond.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let words = |w: &[u32]| w.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<u8>>();
    let mut out = words(&[0xA1B2_C3D4, 0x0002_0004, 0, 0, 65535, 1]);
    for (n, frame) in frames.iter().enumerate() {
        out.extend(words(&[0, n as u32, frame.len() as u32, frame.len() as u32]));
        out.extend(frame);
    }
    out
}

/// CC_Update of Ultra Ethernet for the upper channels: channel n of them has consumed 1000 n + 7
/// credits. No port of xoff sends it.
fn cc_update() -> Vec<u8> {
    let mut frame =
        b"\x01\x80\xC2\x00\x00\x01\x02\x00\x00\x00\x00\x01\x88\x08\xFF\xFE\xFA\x7A\xCB\x02"
            .to_vec();
    for pair in 0..8u64 {
        let (even, odd) = (2000 * pair + 7, 2000 * pair + 1007);
        frame.extend(&(even << 20 | odd).to_be_bytes()[3..]);
    }
    frame
}

/// For each of [`frames`], and for [`cc_update`], in order: field, and what tshark prints for it.
const EXPECTED: &[&[(&str, &str)]] = &[
    &[("macc.opcode", "0x0001"), ("macc.pause_time", "4660")],
    &[
        ("macc.opcode", "0x0101"),
        ("macc.cbfc.pause_time.c3", "65535"),
        ("macc.cbfc.pause_time.c4", "0"),
    ],
    &[("ip.dst", "10.0.0.2"), ("ip.dsfield.ecn", "1"), ("ip.checksum.status", "1")],
    &[("ipv6.hlim", "64"), ("ipv6.plen", "40")],
    &[
        ("xoff.subtype", "1"),
        ("xoff.priority", "3"),
        ("xoff.sequence", "9"),
        ("xoff.gfc.validity", "50000"),
        ("xoff.gfc.stage", "5"),
    ],
    &[("xoff.subtype", "1"), ("xoff.gfc.queue", "300000")],
    &[("xoff.subtype", "1"), ("xoff.gfc.rate", "5000000000")],
    &[
        ("xoff.subtype", "2"),
        ("xoff.credit.fctbs", "100"),
        ("xoff.credit.vl", "3"),
        ("xoff.credit.fccl", "2148"),
    ],
    &[
        ("xoff.credit64.op", "1"),
        ("xoff.credit64.fctbs", "1099511627776"),
        ("xoff.credit64.fccl", "1099511631872"),
        ("xoff.credit64.occupied", "4160"),
    ],
    &[
        ("xoff.pffc.kind", "1"),
        ("xoff.pffc.queue", "5"),
        ("xoff.pffc.duration", "65535"),
        ("xoff.pffc.hash", "0xaabbccdd"),
    ],
    &[("xoff.pffc.kind", "2"), ("xoff.pffc.duration", ""), ("xoff.pffc.key", "0")],
    &[
        ("xoff.pffc.kind", "3"),
        ("xoff.pffc.source", "10.0.0.1"),
        ("xoff.pffc.destination", "10.0.0.2"),
        ("xoff.pffc.source_port", "49152"),
    ],
    &[
        ("xoff.pffc.kind", "4"),
        ("xoff.pffc.source6", "::1"),
        ("xoff.pffc.destination_port", "4791"),
    ],
    &[
        ("xoff.subtype", "5"),
        ("xoff.test.flow", "7"),
        ("xoff.test.sequence", "41"),
        ("xoff.test.sent", "2000"),
        ("xoff.test.last", "1"),
    ],
    &[("xoff.subtype", "6"), ("xoff.link.kind", "2"), ("xoff.link.number", "41")],
    &[("vlan.priority", "3"), ("ip.dst", "10.0.0.2")],
    &[
        ("uec.message", "2"),
        ("uec.consumed.0", "7"),
        ("uec.consumed.1", "1007"),
        ("uec.consumed.15", "15007"),
    ],
];

#[test]
fn tshark_reads_every_frame() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return xoff_testing::skip("tshark", "not in PATH");
    }
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("frames.pcap");
    let mut frames = frames();
    frames.push(cc_update());
    std::fs::write(&capture, pcap(&frames)).unwrap();
    let run = |script: &Path, args: &[&str]| {
        // It is not verified by default.
        let preferences = ["-o", "ip.check_checksum:TRUE"];
        let script = format!("lua_script:{}", script.display());
        Command::new("tshark")
            .args(["-X", &script, "-r"])
            .arg(&capture)
            .args(preferences)
            .args(args)
            .output()
            .unwrap()
    };
    // A protocol from one line of Lua distinguishes a tshark without it, or one that refuses it to
    // root, from a dissector that does not load.
    let probe = folder.path().join("probe.lua");
    std::fs::write(&probe, "Proto('xoffprobe', 'probe')\n").unwrap();
    if !run(&probe, &["-Y", "xoffprobe"]).status.success() {
        return xoff_testing::skip("tshark-lua", "this tshark runs no Lua, or refuses it to root");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wire/xoff.lua");
    let tshark = |args: &[&str]| {
        let out = run(&script, args);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    assert_eq!(frames.len(), EXPECTED.len());
    let mut names: Vec<&str> =
        EXPECTED.iter().flat_map(|row| row.iter().map(|&(name, _)| name)).collect();
    names.sort_unstable();
    names.dedup();
    let mut args = vec!["-T", "fields"];
    names.iter().for_each(|name| args.extend(["-e", name]));
    let table = tshark(&args);
    assert_eq!(table.lines().count(), frames.len(), "{table}");
    for (n, (line, expected)) in table.lines().zip(EXPECTED).enumerate() {
        let cells: Vec<&str> = line.split('\t').collect();
        for (name, value) in *expected {
            let at = names.binary_search(name).unwrap();
            assert_eq!(cells.get(at).copied().unwrap_or(""), *value, "frame {n}, {name}");
        }
    }
    // Nothing that tshark, or the dissector, takes for malformed.
    assert_eq!(tshark(&["-Y", "_ws.malformed || _ws.lua.error"]), "");
}
