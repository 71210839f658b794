// The charts of an item's last hour. The colours are those of the legend, so that the style sheet alone names them.
const charts = new Map(); // element -> { plot, series names }
const span = 3600;
let data = { t: [] };

const color = (box, name) => getComputedStyle(box.closest(".chart").querySelector(`.swatch.${name}`)).color;

// draw makes the charts that the page has and that are not drawn yet.
export function draw() {
  for (const [box, chart] of charts) {
    if (!box.isConnected) {
      chart.plot.destroy();
      charts.delete(box);
    }
  }
  for (const box of document.querySelectorAll("[data-chart]")) {
    if (!charts.has(box)) make(box);
  }
}

function make(box) {
  const names = box.dataset.chart.split(" ");
  const lang = document.documentElement.lang;
  const number = new Intl.NumberFormat(lang, { maximumFractionDigits: 1, notation: "compact" });
  const zone = box.dataset.zone;
  const axis = { stroke: () => color(box, "axis"), grid: { stroke: () => color(box, "grid-line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const plot = new uPlot(
    {
      width: box.clientWidth || 300,
      height: box.clientHeight || 200,
      tzDate: (s) => uPlot.tzDate(new Date(s * 1000), zone),
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: {
        x: { time: true, range: () => [since(), now()] },
        y: { range: (_, __, max) => [0, Math.max(1, (max || 0) * 1.1)] },
      },
      axes: [
        { ...axis, size: 30, values: [[60, "{HH}:{mm}", null, null, null, null, null, null, 0]], space: 60 },
        { ...axis, size: 52, values: (_, at) => at.map((v) => number.format(v)) },
      ],
      series: [
        {},
        ...names.map((name) => ({
          label: name,
          width: 2,
          stroke: () => color(box, name),
          dash: name === "set" || name === "trigger" ? [6, 4] : undefined,
          points: { show: false },
          spanGaps: false,
        })),
      ],
      hooks: { setCursor: [(u) => tell(box, u, names, number)] },
    },
    values(names, box),
    box,
  );
  charts.set(box, { plot, names });
  new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: box.clientHeight })).observe(box);
}

// A young history fills the chart: it begins with the first sample, five minutes ago at the latest.
const since = () => Math.max(now() - span, Math.min(data.t[0] ?? now(), now() - 300));
const now = () => (data.t.length ? data.t[data.t.length - 1] : Date.now() / 1000);

function values(names, box) {
  return [data.t, ...names.map((n) => (n === "trigger" ? data.t.map(() => Number(box.dataset.trigger) || null) : data[n] ?? []))];
}

function renew() {
  for (const [box, { plot, names }] of charts) plot.setData(values(names, box));
}

// tell writes the values under the pointer into the legend; without one, the newest.
function tell(box, u, names, number) {
  const i = u.cursor.idx ?? data.t.length - 1;
  names.forEach((name, n) => {
    const out = box.closest(".chart").querySelector(`[data-value="${name}"]`);
    const v = u.data[n + 1]?.[i];
    if (out) out.textContent = v == null ? "–" : number.format(v);
  });
}

// hour takes in the samples of the last hour: columns by name, t in seconds.
export function hour(columns) {
  data = columns;
  renew();
}

// point adds one sample.
export function point(sample) {
  if (data.t.length && sample.t <= data.t[data.t.length - 1]) return;
  for (const name of Object.keys(sample)) (data[name] ??= []).push(sample[name]);
  while (data.t.length && data.t[0] < sample.t - span) for (const name of Object.keys(data)) data[name].shift();
  renew();
  for (const [box, { plot, names }] of charts) {
    if (plot.cursor.idx == null) tell(box, plot, names, new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 1, notation: "compact" }));
  }
}

// The scheme has changed: draw in its colours.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const { plot } of charts.values()) plot.redraw();
});
