-- Wireshark dissector for xoff's own messages: EtherType 0x88B5, magic "xo", version 1.
--
--   tshark -X lua_script:docs/wire/xoff.lua -r capture.pcap
--   Wireshark: copy it into the folder of personal Lua plugins (Help, About, Folders)
--
-- Byte maps: crates/real/src/wire/{local,gfc,cbfc,pffc,test_frame,link_retry}.rs. PFC and PAUSE need no help.
-- CC_Update of Ultra Ethernet is a frame of MAC control with an opcode and an identifier of its own.

local xoff = Proto("xoff", "xoff lossless network")
local MAGIC, VERSION = 0x786f, 1

local subtypes = { [1] = "GFC", [2] = "Credit (12 bit)", [3] = "Credit (64 bit)", [4] = "PFFC", [5] = "Test frame", [6] = "Link retry" }
local link_kinds = { [0] = "frame", [1] = "Ack", [2] = "Nack", [3] = "Init", [4] = "Init echo" }
local gfc_kinds = { [1] = "stage", [2] = "queue", [3] = "rate" }
local pffc_kinds = { [1] = "pause", [2] = "resume", [3] = "migrate", [4] = "migrate back" }
local ops = { [0] = "normal", [1] = "initialise" }
local keys = { [0] = "none", [4] = "IPv4", [6] = "IPv6" }

local f = {
  magic = ProtoField.uint16("xoff.magic", "Magic", base.HEX),
  version = ProtoField.uint8("xoff.version", "Version"),
  subtype = ProtoField.uint8("xoff.subtype", "Subtype", base.DEC, subtypes),
  priority = ProtoField.uint8("xoff.priority", "Priority", base.DEC, nil, 0x07),
  sequence = ProtoField.uint32("xoff.sequence", "Sequence"),
  gfc_kind = ProtoField.uint8("xoff.gfc.kind", "Kind", base.DEC, gfc_kinds),
  gfc_validity = ProtoField.uint32("xoff.gfc.validity", "Validity [us]"),
  gfc_stage = ProtoField.uint64("xoff.gfc.stage", "Stage"),
  gfc_queue = ProtoField.uint64("xoff.gfc.queue", "Queue [bytes]"),
  gfc_rate = ProtoField.uint64("xoff.gfc.rate", "Rate [bit/s]"),
  op12 = ProtoField.uint16("xoff.credit.op", "Op", base.DEC, ops, 0xf000),
  fctbs12 = ProtoField.uint16("xoff.credit.fctbs", "FCTBS [64 bytes]", base.DEC, nil, 0x0fff),
  vl12 = ProtoField.uint16("xoff.credit.vl", "VL", base.DEC, nil, 0xf000),
  fccl12 = ProtoField.uint16("xoff.credit.fccl", "FCCL [64 bytes]", base.DEC, nil, 0x0fff),
  lpcrc = ProtoField.uint16("xoff.credit.lpcrc", "LPCRC", base.HEX),
  op64 = ProtoField.uint8("xoff.credit64.op", "Op", base.DEC, ops),
  vl64 = ProtoField.uint8("xoff.credit64.vl", "VL", base.DEC, nil, 0x0f),
  fctbs64 = ProtoField.uint64("xoff.credit64.fctbs", "FCTBS [64 bytes]"),
  fccl64 = ProtoField.uint64("xoff.credit64.fccl", "FCCL [64 bytes]"),
  occupied = ProtoField.uint64("xoff.credit64.occupied", "Occupied [bytes]"),
  pffc_kind = ProtoField.uint8("xoff.pffc.kind", "Kind", base.DEC, pffc_kinds),
  pffc_queue = ProtoField.uint8("xoff.pffc.queue", "Paused egress queue", base.DEC, nil, 0x07),
  pffc_duration = ProtoField.uint16("xoff.pffc.duration", "Duration [quanta]"),
  pffc_hash = ProtoField.uint32("xoff.pffc.hash", "Flow hash", base.HEX),
  pffc_key = ProtoField.uint8("xoff.pffc.key", "Key", base.DEC, keys),
  pffc_protocol = ProtoField.uint8("xoff.pffc.protocol", "IP protocol"),
  pffc_sport = ProtoField.uint16("xoff.pffc.source_port", "Source port"),
  pffc_dport = ProtoField.uint16("xoff.pffc.destination_port", "Destination port"),
  pffc_src4 = ProtoField.ipv4("xoff.pffc.source", "Source"),
  pffc_dst4 = ProtoField.ipv4("xoff.pffc.destination", "Destination"),
  pffc_src6 = ProtoField.ipv6("xoff.pffc.source6", "Source"),
  pffc_dst6 = ProtoField.ipv6("xoff.pffc.destination6", "Destination"),
  test_last = ProtoField.uint8("xoff.test.last", "Last of its flow", base.DEC, nil, 0x01),
  test_kind = ProtoField.uint8("xoff.test.kind", "Kind", base.DEC,
    { [0] = "data", [1] = "acknowledgement", [2] = "acknowledgement of a gap", [3] = "CNP" }, 0x06),
  test_mark = ProtoField.uint8("xoff.test.mark", "Mark", base.DEC, { [0] = "none", [1] = "none, TCD-capable", [2] = "UE", [3] = "CE" }, 0x18),
  test_reported = ProtoField.uint8("xoff.test.reported", "Mark reported", base.DEC, { [0] = "none", [1] = "none, TCD-capable", [2] = "UE", [3] = "CE" }, 0x60),
  test_length = ProtoField.uint16("xoff.test.length", "Length [bytes]"),
  test_flow = ProtoField.uint32("xoff.test.flow", "Flow"),
  test_counted = ProtoField.uint16("xoff.test.counted", "Counts for [bytes]"),
  test_sequence = ProtoField.uint64("xoff.test.sequence", "Sequence"),
  test_due = ProtoField.uint64("xoff.test.due", "Due [ps]"),
  link_kind = ProtoField.uint8("xoff.link.kind", "Kind", base.DEC, link_kinds),
  link_number = ProtoField.uint24("xoff.link.number", "Number", base.DEC, nil, 0x0fffff),
  test_sent = ProtoField.uint64("xoff.test.sent", "Sent [ps]"),
}
local list = {}
for _, field in pairs(f) do list[#list + 1] = field end
xoff.fields = list

-- Least length of each subtype [bytes]; a shorter one is left to "data".
local lengths = { [1] = 24, [2] = 10, [3] = 32, [4] = 17, [5] = 40, [6] = 8 }

local function gfc(t, tree)
  local kind = t(4, 1):uint()
  tree:add(f.gfc_kind, t(4, 1))
  tree:add(f.priority, t(5, 1))
  tree:add(f.sequence, t(8, 4))
  tree:add(f.gfc_validity, t(12, 4))
  local value = ({ f.gfc_stage, f.gfc_queue, f.gfc_rate })[kind]
  if value then tree:add(value, t(16, 8)) end
  return string.format("%s %s, priority %d", gfc_kinds[kind] or "unknown kind", t(16, 8):uint64(), t:range(5, 1):bitfield(5, 3))
end

local function credit12(t, tree)
  tree:add(f.op12, t(4, 2))
  tree:add(f.fctbs12, t(4, 2))
  tree:add(f.vl12, t(6, 2))
  tree:add(f.fccl12, t(6, 2))
  tree:add_le(f.lpcrc, t(8, 2))
  return string.format("FCTBS %d, FCCL %d, VL %d", t(4, 2):bitfield(4, 12), t(6, 2):bitfield(4, 12), t(6, 2):bitfield(0, 4))
end

local function credit64(t, tree)
  tree:add(f.op64, t(4, 1))
  tree:add(f.vl64, t(5, 1))
  tree:add(f.fctbs64, t(8, 8))
  tree:add(f.fccl64, t(16, 8))
  tree:add(f.occupied, t(24, 8))
  return string.format("FCTBS %s, FCCL %s, VL %d", t(8, 8):uint64(), t(16, 8):uint64(), t(5, 1):bitfield(4, 4))
end

local function pffc(t, tree)
  local kind, key = t(4, 1):uint(), t(16, 1):uint()
  tree:add(f.pffc_kind, t(4, 1))
  tree:add(f.pffc_queue, t(5, 1))
  if kind == 1 then tree:add(f.pffc_duration, t(6, 2)) end
  tree:add(f.sequence, t(8, 4))
  tree:add(f.pffc_hash, t(12, 4))
  tree:add(f.pffc_key, t(16, 1))
  local size = ({ [4] = 4, [6] = 16 })[key]
  if size and t:len() >= 24 + 2 * size then
    tree:add(f.pffc_protocol, t(17, 1))
    tree:add(f.pffc_sport, t(20, 2))
    tree:add(f.pffc_dport, t(22, 2))
    tree:add(key == 4 and f.pffc_src4 or f.pffc_src6, t(24, size))
    tree:add(key == 4 and f.pffc_dst4 or f.pffc_dst6, t(24 + size, size))
  end
  return string.format("%s, flow %08x, queue %d", pffc_kinds[kind] or "unknown kind", t(12, 4):uint(), t(5, 1):bitfield(5, 3))
end

local function test(t, tree)
  tree:add(f.priority, t(4, 1))
  tree:add(f.test_last, t(5, 1))
  tree:add(f.test_kind, t(5, 1))
  tree:add(f.test_mark, t(5, 1))
  tree:add(f.test_reported, t(5, 1))
  tree:add(f.test_length, t(6, 2))
  tree:add(f.test_flow, t(8, 4))
  tree:add(f.test_counted, t(12, 2))
  tree:add(f.test_sequence, t(16, 8))
  tree:add(f.test_due, t(24, 8))
  tree:add(f.test_sent, t(32, 8))
  return string.format("flow %d, sequence %s", t(8, 4):uint(), t(16, 8):uint64())
end

local function link_retry(t, tree, info)
  local kind = t(4, 1):uint()
  tree:add(f.link_kind, t(4, 1))
  tree:add(f.link_number, t(5, 3))
  if kind == 0 then Dissector.get("eth_withoutfcs"):call(t(8):tvb(), info, tree) end
  return string.format("%s %d", link_kinds[kind] or "unknown kind", t(5, 3):bitfield(4, 20))
end

local bodies = { gfc, credit12, credit64, pffc, test, link_retry }

function xoff.dissector(t, info, root)
  -- Anyone may use this EtherType: what is not ours is left to others.
  if t:len() < 4 or t(0, 2):uint() ~= MAGIC or t(2, 1):uint() ~= VERSION then return 0 end
  local subtype = t(3, 1):uint()
  if not bodies[subtype] or t:len() < lengths[subtype] then return 0 end
  local tree = root:add(xoff, t())
  tree:add(f.magic, t(0, 2))
  tree:add(f.version, t(2, 1))
  tree:add(f.subtype, t(3, 1))
  local text = bodies[subtype](t, tree, info)
  tree:append_text(", " .. subtypes[subtype] .. ": " .. text)
  info.cols.protocol = "xoff"
  info.cols.info = subtypes[subtype] .. ": " .. text
  return t:len()
end

DissectorTable.get("ethertype"):add(0x88b5, xoff)

-- Credits consumed by virtual channel, UE 1.0 section 5.2. The order of channels and bits in the counters is our reading.
local uec = Proto("uec", "Ultra Ethernet CBFC")
local messages = { [1] = "CC_Update, channels 0 to 15", [2] = "CC_Update, channels 16 to 31" }
local u = { message = ProtoField.uint8("uec.message", "Message", base.DEC, messages), consumed = {} }
uec.fields = { u.message }
for n = 0, 15 do
  -- 20 bits: in the first or the last bits of three bytes.
  local mask = n % 2 == 0 and 0xfffff0 or 0x0fffff
  u.consumed[n] = ProtoField.uint24("uec.consumed." .. n, "Credits consumed, channel " .. n .. " of the message", base.DEC, nil, mask)
  uec.fields[n + 2] = u.consumed[n]
end
local ethertypes = DissectorTable.get("ethertype")
local mac_control = ethertypes:get_dissector(0x8808)

function uec.dissector(t, info, root)
  if t:len() < 46 or t(0, 2):uint() ~= 0xfffe or t(2, 3):uint() ~= 0xfa7acb or not messages[t(5, 1):uint()] then
    return mac_control:call(t, info, root)
  end
  local tree = root:add(uec, t())
  tree:add(u.message, t(5, 1))
  for n = 0, 15 do
    tree:add(u.consumed[n], t(6 + 5 * math.floor(n / 2) + 2 * (n % 2), 3))
  end
  info.cols.protocol = "UEC"
  info.cols.info = messages[t(5, 1):uint()]
  return t:len()
end

ethertypes:add(0x8808, uec)
