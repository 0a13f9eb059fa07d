// Types of the report's scripts, for `tsc`: the data that `crates/report/src/view` writes into a page, and the one global name, `xoff`.

type Numbers = ArrayLike<number> & Iterable<number>;
type Child = Node | string | number | null | undefined | false | Child[];
type Draw = () => void;
/** A port and the instant in which it is of interest. */
type Choose = (port: number, ps: number) => void;
type Attributes = Record<string, any>;
type Point = [x: number, y: number];
type Segment = [ax: number, ay: number, bx: number, by: number];
/** Units with their factors, largest first. */
type Steps = [factor: number, unit: string][];
type Span = [start: number, end: number];
/** Name of a button, its action, its title. */
type Tool = [name: string, act: () => unknown, title?: string];

// ---- data of a run -----------------------------------------------------------------------------------------------------------------
interface Fact { label: string; value: string; note: string; tone: string }
interface Nodes { name: string[]; x: Numbers & number[]; y: Numbers & number[]; host: number[] }
interface Ports { node: Uint32Array; peer: Uint32Array; rate: Float64Array; suffix: Record<number, string> }
type Total = "tx" | "pauses" | "paused_ps" | "blocks" | "blocked_ps" | "marked" | "marked_ue" | "dropped" | "egress_max" | "ingress_max";
type Totals = Record<Total, Numbers>;
/** Port, priority, start of its pause (null: rate-limited), and the bytes of each flow at each port waited for. */
type Waiter = [port: number, priority: number, since: number | null, shares: Share[]];
type Share = [port: number, flow: number, bytes: number];
interface Course {
  times: number[]; sent: Float64Array; stopped: Uint16Array; limit: Uint16Array; egress: Float64Array; ingress: Float64Array; marked: Float64Array;
  waiters: (Waiter[] | null)[];
}
interface Stuck { port: number; priority: number; frames: number; bytes: number; start_ps: number }
interface Deadlock { start_ps: number; seen_ps: number; stuck: number; ports: Stuck[] }
interface Cdf { x: Numbers & number[]; y: Numbers & number[] }
type Quantile = "p50" | "p95" | "p99";
interface SizeBin extends Record<Quantile, number> { from: number; to: number; mean: number; flows: number; unfinished: number }
/** Number, source, destination, size (null: unlimited), delivered bytes, start, completion time, slowdown. */
type FlowRow = [number, number, number, number | null, number, number, number | null, number | null];
interface Flows {
  fct: Cdf; slowdown: Cdf; sizes: SizeBin[]; list: FlowRow[]; ends: Record<number, [src: number, dst: number]>; total: number; sized: number; unfinished: number;
}
interface Straggler {
  flow: number; from_rank: number; to_rank: number; start_ps: number; end_ps: number; pause_ps: number; rate_limit_ps: number; queueing_ps: number;
  port: [port: number, paused_ps: number] | null;
}
interface Iteration { start_ps: number; end_ps: number | null; time_ps: number; exposed_ps: number; path_ps: number[]; straggler: Straggler | null }
interface Job {
  name: string; hosts: number[]; causes: string[]; total: number; begin: number; iterations: Iteration[]; longest: number | null;
  path: { from: Numbers; to: Numbers; cause: Numbers; rank: Numbers }; ranks: number[]; shown: number; first: Numbers; from: Numbers; to: Numbers; state: Numbers;
}
interface RunData {
  subject: string; end_ps: number; tiers: boolean; nodes: Nodes; ports: Ports; totals: Totals; course: Course | null; flows: Flows;
  deadlocks: Deadlock[]; jobs: Job[]; folder: string; left_out: string[]; facts: Fact[]; live: boolean; served: boolean; real: boolean;
}
interface FabricWindow {
  end_ps: number; cold: number; hot: number; delay_ps: number | null; queue_max: number; queue_mean: number; grants_max: number; grants_mean: number;
}
interface FabricData {
  title: string; end_ps: number; windows: FabricWindow[]; flows: { name: string; rate: number[]; input: number[] }[];
  outputs: [name: string, hotspot: boolean, offered: number, delivered: number][];
}

// ---- tables and charts ---------------------------------------------------------------------------------------------------------------
interface Column<Row> {
  name: string;
  /** Name with the unit, in a file. */
  csv?: string;
  value: (row: Row) => any;
  show?: (row: Row) => Child;
  order?: (row: Row) => any;
  right?: boolean;
}
interface TableOptions<Row> { name: string; sort?: number; down?: boolean; shown?: number; pick?: (row: Row) => void; mark?: (row: Row) => boolean }
interface Table { element: HTMLElement; draw: Draw }
interface Series {
  name: string; x: Numbers; y: (number | null)[] | Numbers; axis?: number; colour?: string; dash?: string; shape?: string; fill?: boolean; mode?: string;
  hover?: string; width?: number; size?: number; symbol?: string | string[]; legend?: boolean; text?: string[]; recorded?: boolean;
}
interface Axis { title: string; csv?: string; time?: boolean; log?: boolean; range?: number[]; suffix?: string }
interface Mark { type: string; line: object; colour?: string; [key: string]: unknown }
interface ChartSpec {
  name: string; title: string; note?: string; x: Axis; y: Axis[]; height?: number; series?: Series[]; shapes?: Mark[]; hovermode?: string;
  click?: (point: { x: number; y: number }) => void;
}
interface ChartChange { series?: Series[]; shapes?: Mark[]; title?: string; note?: string }
/** Element that Plotly draws into. */
interface Plot extends HTMLElement { on: (event: string, act: (e: any) => void) => void }
interface Chart {
  spec: ChartSpec; plot: Plot; title: string; series: Series[]; shapes: Mark[]; range: number[] | null; element: HTMLElement;
  wired: boolean; due: boolean; marking: boolean; zoomed?: Draw;
  draw: () => Promise<void>; set: (change: ChartChange) => void; mark: (shapes: Mark[]) => void;
}
interface Charts { chart: (spec: ChartSpec) => Chart; ready: () => Promise<any>; SERIES: string[] }

// ---- the drawing of the network --------------------------------------------------------------------------------------------------------
interface Net { nodes: Nodes; ports: Ports; tiers: boolean; hosts: number }
interface Size { width: number; height: number }
interface Place {
  view: { scale: number; x: number; y: number }; size: Size; unit: Point; letter: number; room: Float64Array;
  resize: (width: number, height: number) => void; at: (node: number) => Point; segment: (port: number, width?: number) => Segment;
  middle: (port: number) => Point; lineWidth: () => number; hostSize: () => number; outside: (x: number, y: number) => boolean;
  hit: (x: number, y: number) => { port: number; node: number }; towards: (from: number, dx: number, dy: number) => number;
}
/** Value of a port from 0 to 1, its colour, the ports of deadlocks. */
interface Look { value: (port: number) => number; ink: () => string; cycles: () => number[] }
interface Painter {
  scheme: string[]; labels: string[]; recolour: Draw; colourOf: (port: number) => string;
  paint: (canvas: HTMLCanvasElement, selected: number, hovered: number) => void;
}
interface Drawing {
  element: HTMLElement; tools: HTMLElement; draw: Draw; recolour: Draw; view: Place["view"]; middle: Place["middle"]; at: Place["at"];
  select: (port: number) => void; scheme: () => string[]; labels: () => string[]; hovered: () => number;
}

// ---- ranks of jobs ---------------------------------------------------------------------------------------------------------------------
interface JobView {
  job: Job; iteration: number; rows: number[]; seen: Span; places: Map<number, number>;
  choose: (job: Job) => void; host: (rank: number) => string; end: (iteration: number) => number; spanOf: (iteration: number) => Span;
  firstOf: (rank: number, iteration: number) => number; within: (rank: number, span: Span) => Span; sums: (rank: number) => number[]; hasPath: () => boolean;
}
/** Draws a bar from a time to a time. */
type Bar = (from: number, to: number, y: number, high: number, fill: string | CanvasPattern) => void;
interface RankSizes { row: number; left: number; top: number; axis: number; strip: number }
interface Under { t: number; row: number; inside: boolean; px: number; py: number }
interface RankPlace {
  sizes: () => RankSizes; rowTop: (row: number, s: RankSizes) => number; height: (s: RankSizes) => number; x: (t: number, s: RankSizes) => number;
  under: (e: MouseEvent) => Under; ticks: () => number[];
}
interface Strip { name: string; times: number[]; values: number[] }
interface JobsLink { at: () => number | null; go: (ps: number) => void; choose: Choose; portName: (port: number) => string; network: Strip | null }
interface Ranks { element: HTMLElement; mark: Draw; show: (ranks: number[]) => void; turn: (iteration: number) => void; rows: () => number[] }

// ---- the report --------------------------------------------------------------------------------------------------------------------------
interface Metric { label: string; ink: string; value: (port: number) => number; legend: () => [low: string, high: string] }
type MetricName = "stopped" | "rate" | "queue";
/** Data and state that all parts of the report share. */
interface Run {
  data: RunData; state: { sample: number; metric: MetricName; port: number }; changed: ((what?: string) => void)[];
  totals: Totals; samples: number; xs: number[]; queueMax: number; unitPs: number; unit: string; timeAxis: Axis; count: number; names: string[]; acted: boolean;
  /** Null: nothing was recorded over time. */
  course: Course | null;
  /** The course, in parts that draw only if there is one. */
  over: () => Course;
  load: (next: RunData) => void; peer: (port: number) => string; typed: (port: number) => string; portName: (port: number) => HTMLElement;
  of: (column: ArrayLike<number>, port: number, sample: number) => number;
  seriesOf: (column: ArrayLike<number>, port: number, f: (value: number, sample: number) => number) => number[];
  rateAt: (port: number, sample: number) => number; used: (port: number, sample: number) => number; pausedPs: (port: number) => number;
  pausedOfAll: (port: number) => number; usedOfAll: (port: number) => number; sampleAt: (ps: number) => number; cursor: () => Mark[]; interval: () => string;
  metrics: Record<MetricName, Metric>; words: (port: number) => string;
  net: Drawing; fromSlider: () => number; go: (sample: number, fromSlider?: boolean) => void; drawLegend: Draw; choose: (port: number) => void;
  drawTree: Draw; drawDeadlocks: Draw; portTable?: Table;
}
interface Trees {
  waits: Map<number, Waiter>; parent: Map<number, number>; children: Map<number, number[]>; roots: number[];
  port: (place: number) => number; priority: (place: number) => number; several: boolean;
}

/** Of every report: base.js. */
interface Base {
  time: (ps: number | null | undefined, digits?: number) => string; bytes: (b: number | null | undefined) => string; rate: (r: number | null | undefined) => string;
  percent: (part: number | null) => string; count: (n: number) => string; times: (n: number) => string; several: (n: number, one: string, many?: string) => string;
  largest: (values: Iterable<any>, least?: number) => number; smallest: (values: Iterable<number>) => number; quoted: (text: string) => string;
  el: (name: string, attributes?: Attributes, ...children: Child[]) => any; svg: (name: string, attributes?: Attributes, ...children: Child[]) => any;
  context: (canvas: HTMLCanvasElement) => CanvasRenderingContext2D; byId: (id: string) => any; colour: (name: string) => string; rem: () => number; mix: (from: string, to: string, part: number) => string; onTheme: (draw: Draw) => void;
  inflate: (id: string, format?: CompressionFormat) => Promise<ArrayBuffer>; inflateText: (text: string, format?: CompressionFormat) => Promise<ArrayBuffer>;
  unpack: (value: any, buffer: ArrayBuffer | null) => any; data: () => Promise<any>;
  save: (name: string, type: string, content: Blob | string | null) => void; csv: (names: string[], rows: unknown[][]) => string; tools: (entries: Tool[]) => HTMLElement;
  cards: (box: Element, facts: Fact[]) => void; scroll: (content: Node) => [hint: HTMLElement, box: HTMLElement];
  table: <Row>(columns: Column<Row>[], rows: () => Row[], options: TableOptions<Row>) => Table;
}
interface Xoff extends Base {
  /** Name of the run, below the titles of charts. */
  subject?: string;
  charts: Charts;
  networkRoom: (xs: Numbers, ys: Numbers) => Float64Array; networkPlace: (net: Net) => Place; networkNames: (net: Net, place: Place, selected: number) => string[];
  networkWidth: (text: string, letter: number) => number; networkBeside: (net: Net, place: Place, y: number, r: number) => number;
  networkInside: (place: Place, x: number, half: number) => number; networkArrow: (c: CanvasRenderingContext2D, segment: Segment, width: number) => void;
  networkNode: (c: CanvasRenderingContext2D, net: Net, place: Place, node: number, text: string | undefined) => void;
  networkPainter: (net: Net, place: Place, look: Look) => Painter; networkSvg: (net: Net, place: Place, painter: Painter, tooltip: (port: number) => string) => string;
  networkPointer: (canvas: HTMLCanvasElement, place: Place, act: { zoom: (factor: number, x?: number, y?: number) => void; hover: (x: number, y: number) => void; click: (x: number, y: number) => void; draw: Draw }) => void;
  networkKeys: (canvas: HTMLCanvasElement, keys: Record<string, () => unknown>, move: (dx: number, dy: number) => void) => void;
  networkZoom: (place: Place, factor: number, x?: number, y?: number) => void;
  networkTip: (tip: HTMLElement, size: Size, text: string, x?: number, y?: number) => void;
  network: (net: Net, look: Look & { tooltip: (port: number) => string; pick: (port: number) => void; name: string }) => Drawing;
  jobState: (data: RunData) => JobView; rankStates: [name: string, colour: string, hatched?: boolean][]; rankCauses: string[];
  rankPlace: (view: JobView, canvas: HTMLCanvasElement, network: Strip | null) => RankPlace;
  hatching: (c: CanvasRenderingContext2D, ink: string, ratio: number) => CanvasPattern | string;
  rankPainter: (view: JobView, place: RankPlace, canvas: HTMLCanvasElement, box: HTMLElement, link: Pick<JobsLink, "at" | "network">) => Draw;
  rankPointer: (view: JobView, place: RankPlace, canvas: HTMLCanvasElement, tip: HTMLElement, act: { later: Draw; go: (ps: number) => void }) => void;
  rankFacts: (view: JobView, data: RunData, link: Pick<JobsLink, "choose" | "portName">) => HTMLElement[];
  rankField: (view: JobView, show: (ranks: number[]) => void, most: number) => { field: HTMLElement; update: Draw };
  rankTable: (view: JobView, show: (ranks: number[]) => void) => Table;
  jobs: (data: RunData, link: JobsLink) => Ranks;
  waiters: (run: Run) => { at: number; sample: number; list: Waiter[] }; waitSums: (shares: Share[], which: 0 | 1) => Point[]; held: (w: Waiter) => number;
  runSteps: (run: Run, list: Waiter[], first: Waiter) => Child[]; runChain: (run: Run, port: number) => Child[];
  pauseTrees: (list: Waiter[], hasQueue: (port: number) => boolean) => Trees; runTrees: (run: Run) => void;
  cycleDrawing: (ports: Stuck[], names: string[], pick: (port: number) => void, id: string) => { drawing: any; left: number };
  runDeadlocks: (run: Run) => void;
  completionChart: (flows: Flows) => Chart; slowdownChart: (flows: Flows) => Chart | null; sizeTable: (flows: Flows) => Node[];
  runFlows: (run: Run) => { charts: Chart[]; table: Table };
  runPort: (run: Run) => void; runRecorded: (run: Run, chart: Chart) => { fetch: () => Promise<void>; forget: Draw }; runPorts: (run: Run) => Table;
  runState: (data: RunData) => Run; runMetrics: (run: Run) => void; runNetwork: (run: Run) => void; runPlay: (run: Run, still: boolean) => HTMLElement;
  runOverview: (run: Run) => { chart: Chart; refresh: Draw } | null; runRanks: (run: Run) => Ranks | null; runStart: (run: Run) => void;
  runLive: (run: Run, redraw: (follows: boolean) => void) => void; run: () => Promise<object>; fabric: () => Promise<void>;
}

interface Window { Plotly: any }
