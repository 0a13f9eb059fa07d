//! The switch as a packet trace: at t this goes in, this must come out.

use xoff_mech::LinkFacts;
use xoff_mech::detection::Detection;
use xoff_mech::flow_control::{FlowControl, Message, pfc};
use xoff_node::{
    BufferPolicy, Call, Compat, ControlDelay, DisciplineKind, Env, EventKey, Frame, FrameId,
    FrameKind, FrameStore, NodeEvent, SchedulerKind, Switch, SwitchConfig,
};
use xoff_units::{Bytes, Class, FlowId, NodeId, PortId, Rate, Span, Time};

const LINE: Rate = Rate::from_gbps(10);

/// A world that sends every frame back to where it came from, and records what left.
#[derive(Default)]
struct World {
    frames: FrameStore,
    now: Time,
    sent: Vec<(u64, u16, FrameKind)>,
    messages: Vec<Message>,
    calls: Vec<(Time, Call)>,
}

impl Env for World {
    fn now(&self) -> Time {
        self.now
    }
    fn frames(&mut self) -> &mut FrameStore {
        &mut self.frames
    }
    fn transmit(&mut self, at: PortId, frame: FrameId, tx: Span) -> EventKey {
        let f = self.frames.remove(frame);
        self.sent.push((self.now.as_ns(), at.port, f.kind()));
        EventKey { time: self.now + tx, rank: 0 }
    }
    fn wire_time(&mut self, rate: Rate, len: u32) -> Span {
        rate.time_for(Bytes(len as u64))
    }
    fn has_come(&self, key: EventKey) -> bool {
        key.time <= self.now
    }
    fn records_queues(&self) -> bool {
        false
    }
    fn hand_over(&mut self, _at: PortId, _frame: FrameId) {}
    fn call_at(&mut self, _node: NodeId, at: Time, call: Call) {
        self.calls.push((at, call));
    }
    fn route(&mut self, _node: NodeId, _frame: &Frame) -> Option<u16> {
        Some(0)
    }
    fn draw(&mut self, _at: PortId) -> f64 {
        0.0
    }
    fn emit(&mut self, _node: NodeId, emit: NodeEvent) {
        if let NodeEvent::MessageSent { message, .. } = emit {
            self.messages.push(message);
        }
    }
}

/// A switch whose ports pause above 2000 B and resume at 1500 B.
fn switch(hairpin_overlap: bool) -> Switch {
    switch_with(|c| c.compat.hairpin_overlap = hairpin_overlap)
}

fn switch_with(change: impl FnOnce(&mut SwitchConfig)) -> Switch {
    let link = LinkFacts::plain(LINE, Span::from_us(1), Bytes(1500), Bytes(100_000));
    let threshold = pfc::Threshold::Static { xoff: Bytes(2000), xon: Bytes(1500) };
    let flow_control =
        FlowControl::Pfc(pfc::Params { threshold, quanta: None, repeat: Span::ZERO });
    let mut config = SwitchConfig {
        flow_control: vec![flow_control; 2],
        links: vec![link; 2],
        to_host: vec![false; 2],
        detection: vec![Detection::None; 2],
        buffer: BufferPolicy::PerIngress(Bytes(100_000)),
        discipline: DisciplineKind::Fifo,
        scheduler: SchedulerKind::Strict,
        control_delay: ControlDelay::default(),
        classes: 1,
        lossy: Default::default(),
        message_len: None,
        unpaused: None,
        messages_first: false,
        telemetry: None,
        watchdog: None,
        balancing: Default::default(),
        entropy: false,
        compat: Compat::default(),
    };
    change(&mut config);
    Switch::new(NodeId(0), &config)
}

/// Three CNPs of a class that nothing pauses come while a frame of 1500 B leaves, then one that
/// makes the switch pause its peer: CNPs go before data that wait, also while these are paused; and
/// the pause goes before them, or FIFO.
#[test]
fn unpaused_frames_go_first_and_the_pause_goes_before_them() {
    use FrameKind::{CongestionNotification as Cnp, Control, Data};
    let sent = |messages_first: bool| {
        let mut s =
            switch_with(|c| (c.unpaused, c.messages_first) = (Some(Class(1)), messages_first));
        let mut w = World { frames: FrameStore::new(), ..World::default() };
        let comes = |s: &mut Switch, w: &mut World, frame: Frame| {
            let id = w.frames.insert(frame);
            s.on_frame(0, id, w);
        };
        comes(&mut s, &mut w, Frame::new(Data, FlowId(0), Class(0), 1500));
        comes(&mut s, &mut w, Frame::control(Message::Pfc(pfc::Pause::STICKY), Class(0), 64));
        (0..3).for_each(|_| comes(&mut s, &mut w, Frame::new(Cnp, FlowId(0), Class(1), 64)));
        (0..2).for_each(|_| comes(&mut s, &mut w, Frame::new(Data, FlowId(0), Class(0), 1500)));
        let mut resumed = false;
        while let Some(at) = w.calls.iter().enumerate().min_by_key(|(_, c)| c.0).map(|(i, _)| i) {
            w.now = w.calls.remove(at).0;
            s.on_wire_free(0, &mut w);
            if w.calls.is_empty() && !resumed {
                resumed = true;
                w.now = Time::from_ns(5000);
                comes(
                    &mut s,
                    &mut w,
                    Frame::control(Message::Pfc(pfc::Pause::RESUME), Class(0), 64),
                );
            }
        }
        w.sent.iter().map(|s| (s.0, s.2)).collect::<Vec<_>>()
    };
    // 1500 B take 1200 ns, 64 B take 51.2. With 3000 B behind it the pause is due while the first
    // frame leaves.
    let end = [(5000, Data), (6200, Control), (6251, Data)];
    let of = |first: [FrameKind; 4]| {
        [(0, Data), (1200, first[0]), (1251, first[1]), (1302, first[2]), (1353, first[3])]
    };
    assert_eq!(sent(true)[..5], of([Control, Cnp, Cnp, Cnp]));
    assert_eq!(sent(false)[..5], of([Cnp, Cnp, Cnp, Control]));
    assert_eq!(
        (&sent(true)[5..], &sent(false)[5..]),
        (&end[..], &end[..]),
        "the rest after the resume, with one of the switch's own"
    );
}

/// Frames that leave through the port they came in by, as after a failure: the ingress pauses its
/// peer, and lets it go when it has drained, though the resume has to wait for the very frame that
/// makes it due.
#[test]
fn a_port_that_sends_back_what_it_received_resumes_its_peer() {
    for overlaps in [false, true] {
        let (mut s, mut w) =
            (switch(overlaps), World { frames: FrameStore::new(), ..World::default() });
        for _ in 0..3 {
            let id = w.frames.insert(Frame::new(FrameKind::Data, FlowId(0), Class(0), 1500));
            s.on_frame(0, id, &mut w);
        }
        let pause = Message::Pfc(pfc::Pause::STICKY);
        assert_eq!(w.messages, [pause], "3000 B wait behind the first frame");
        while let Some(at) = w.calls.iter().enumerate().min_by_key(|(_, c)| c.0).map(|(i, _)| i) {
            let (time, call) = w.calls.remove(at);
            w.now = time;
            assert_eq!(call, Call::WireFree { port: 0, rank: 0 });
            s.on_wire_free(0, &mut w);
        }
        assert_eq!(w.messages, [pause, Message::Pfc(pfc::Pause::RESUME)], "overlaps: {overlaps}");
        let kinds: Vec<_> = w.sent.iter().map(|s| s.2).collect();
        assert_eq!(kinds.iter().filter(|&&k| k == FrameKind::Control).count(), 2);
        assert_eq!((kinds.len(), s.held(), w.frames.live_data()), (5, Bytes::ZERO, 0));
        if !overlaps {
            // Back to back: three frames of 1.2 us and two control frames of 64 B.
            assert_eq!(
                w.sent.iter().map(|s| s.0).collect::<Vec<_>>(),
                [0, 1200, 1251, 2451, 2502],
                "{:?}",
                w.sent
            );
        }
    }
}
