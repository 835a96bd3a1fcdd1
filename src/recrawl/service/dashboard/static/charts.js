// Charts, drawn with uPlot from the numbers in data attributes.
"use strict";

const Charts = (() => {
  const styles = () => getComputedStyle(document.documentElement);
  const color = (name) => styles().getPropertyValue(`--${name}`).trim();
  const font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  const utc = (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC");

  // Times in 24 hours, the date below where it begins: distance in seconds, then how to write it.
  const day = "\n{YYYY}-{MM}-{DD}";
  const times = [
    [31536000, "{YYYY}", null, null, null, null, null, null, 1],
    [2419200, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
    [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
    [60, "{HH}:{mm}", day, null, day, null, null, null, 1],
    [1, "{HH}:{mm}:{ss}", day, null, day, null, null, null, 1],
    [0.001, "{HH}:{mm}:{ss}.{fff}", day, null, day, null, null, null, 1],
  ];

  const axis = (more) => ({
    stroke: color("soft"),
    font,
    grid: { stroke: color("line"), width: 1 },
    ticks: { show: false },
    gap: 6,
    ...more,
  });

  // Shows what is under the cursor in a corner of the chart.
  const tip = (write) => ({
    hooks: {
      init: (chart) => {
        chart.tip = document.createElement("div");
        chart.tip.className = "tip";
        chart.tip.hidden = true;
        chart.root.append(chart.tip);
      },
      setCursor: (chart) => {
        const text = chart.cursor.idx == null ? "" : write(chart, chart.cursor.idx);
        chart.tip.hidden = !text;
        chart.tip.textContent = text;
      },
    },
  });

  const clock = (seconds) => {
    const at = new Date(seconds * 1e3).toISOString();
    return `${at.slice(0, 10)} ${at.slice(11, 19)}`;
  };

  // A date under the last mark reaches beyond it by half its width.
  const base = (more) => ({
    width: 400,
    height: 200,
    tzDate: utc,
    padding: [null, 36, null, null],
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    legend: { show: false },
    ...more,
  });

  // Freshness is drawn from a little below its lowest value: what matters is how it moves.
  const percents = (_chart, low, high) => {
    if (low === null || high === null) return [0, 100];
    const margin = Math.max((high - low) * 0.15, 1);
    return [Math.max(Math.floor(low - margin), 0), Math.min(Math.ceil(high + margin), 100)];
  };

  const freshness = (columns) => ({
    options: base({
      scales: { y: { range: percents } },
      axes: [
        axis({ grid: { show: false }, values: times, space: 70 }),
        axis({ values: (_chart, splits) => splits.map((value) => `${value} %`), size: 52 }),
      ],
      series: [{}, { stroke: color("fresh"), width: 2, fill: color("fresh-soft"), points: { show: false } }],
      plugins: [tip((chart, at) => (chart.data[1][at] == null ? "" : `${chart.data[1][at].toFixed(1)} % fresh · ${clock(chart.data[0][at])}`))],
    }),
    data: [columns.columns[0] || [], columns.columns[1] || []],
  });

  // The unit in which the busiest time has at least one visit.
  const units = [[1, "second"], [60, "minute"], [3600, "hour"], [86400, "day"]];
  const unitOf = (highest) => units.find(([seconds]) => highest * seconds >= 1) || units[units.length - 1];

  // From counts so far to rates, each on top of those before it.
  const rates = (columns) => {
    const [at, , changed, unchanged, failed] = columns.columns;
    const rows = [changed, unchanged, failed].map((count) => {
      const found = at.map((_, i) => Math.max(count[i] - count[i - 1], 0) / Math.max(at[i] - at[i - 1], 1e-6));
      // Before the first sample nothing is known; a bar ends where its sample was taken.
      found[0] = found[1] ?? 0;
      return found;
    });
    const onTop = rows.map((_, level) => at.map((_, i) => rows.slice(0, level + 1).reduce((sum, row) => sum + row[i], 0)));
    const [seconds, unit] = unitOf(onTop[2].reduce((most, rate) => Math.max(most, rate), 0));
    return { at, onTop: onTop.map((row) => row.map((rate) => rate * seconds)), unit };
  };

  const visits = (columns) => {
    const { at, onTop, unit } = columns.columns.length ? rates(columns) : { at: [], onTop: [[], [], []], unit: "second" };
    columns.unit = unit;
    for (const place of document.querySelectorAll("[data-unit]")) place.textContent = unit;
    const names = ["changed", "unchanged", "failed"];
    const series = [2, 1, 0].map((level) => ({
      stroke: color(names[level]),
      fill: color(names[level]),
      width: 1,
      paths: uPlot.paths.stepped({ align: -1 }),
      points: { show: false },
    }));
    return {
      options: base({
        scales: { y: { range: (_chart, _low, high) => [0, high ? high * 1.1 : 1] } },
        axes: [axis({ grid: { show: false }, values: times, space: 70 }), axis({ size: 52 })],
        series: [{}, ...series],
        plugins: [
          tip((chart, i) => {
            if (!i) return "";
            const [all, known, changed] = [1, 2, 3].map((level) => chart.data[level][i]);
            const parts = [changed, known - changed, all - known].map((rate) => rate.toFixed(1));
            return `${parts[0]} changed, ${parts[1]} unchanged, ${parts[2]} failed per ${columns.unit}`;
          }),
        ],
      }),
      data: [at, onTop[2], onTop[1], onTop[0]],
    };
  };

  const marked = (chart, x, y, fill, stroke) => {
    const { ctx } = chart;
    const ratio = devicePixelRatio;
    ctx.beginPath();
    ctx.arc(chart.valToPos(x, "x", true), chart.valToPos(y, "y", true), 4.5 * ratio, 0, 2 * Math.PI);
    if (fill) {
      ctx.fillStyle = fill;
      ctx.fill();
    }
    if (stroke) {
      ctx.lineWidth = 2 * ratio;
      ctx.strokeStyle = stroke;
      ctx.stroke();
    }
  };

  const upright = (chart, x, stroke, dash) => {
    const { ctx, bbox } = chart;
    const at = chart.valToPos(x, "x", true);
    ctx.beginPath();
    ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.lineWidth = devicePixelRatio;
    ctx.strokeStyle = stroke;
    ctx.stroke();
    ctx.setLineDash([]);
  };

  const outcomes = { first: "changed", changed: "changed", unchanged: "unchanged", failed: "failed", gone: "failed" };

  const timeline = (found) => {
    const first = found.visits.length ? found.visits[0][0] : found.now;
    const last = Math.max(found.now, found.next || 0);
    const margin = Math.max((last - first) * 0.03, 1e-3);
    const draw = (chart) => {
      chart.ctx.save();
      upright(chart, found.now, color("soft"), [3, 3]);
      for (const [at, outcome] of found.visits) marked(chart, at, 0, color(outcomes[outcome]), color("panel"));
      if (found.next !== null) marked(chart, found.next, 0, color("panel"), color("fresh"));
      chart.ctx.restore();
    };
    return {
      options: base({
        scales: { x: { range: [first - margin, last + margin] }, y: { range: [-8, 100] } },
        axes: [
          axis({ grid: { show: false }, values: times, space: 70 }),
          axis({
            splits: [0, 25, 50, 75, 100],
            values: (_chart, splits) => splits.map((value) => `${value} %`),
            size: 52,
          }),
        ],
        series: [{}, { stroke: color("fresh"), width: 1.5, fill: color("fresh-soft"), fillTo: 0, points: { show: false } }],
        hooks: { draw: [draw] },
        plugins: [tip((chart, at) => (chart.data[1][at] === null ? "" : `${chart.data[1][at].toFixed(0)} % stale · ${clock(chart.data[0][at])}`))],
      }),
      data: [found.x, found.stale],
    };
  };

  const logarithmic = (found) => ({
    scale: { time: false, distr: 3, log: 10, range: [found.x[0], found.x[found.x.length - 1]] },
    axis: axis({
      grid: { show: false },
      splits: (chart) => {
        // Those labels that fit side by side.
        let last = -Infinity;
        const left = (at) => (Math.log(at / found.x[0]) / Math.log(found.x[found.x.length - 1] / found.x[0])) * chart.width;
        const marks = found.marks.map(([at]) => at).sort((one, other) => one - other);
        return marks.filter((at) => {
          const fits = left(at) > 40 && left(at) < chart.width - 60 && left(at) - last > 95;
          if (fits) last = left(at);
          return fits;
        });
      },
      filter: (_chart, splits) => splits,
      values: (_chart, splits) => splits.map((value) => (found.marks.find(([at]) => at === value) || [0, ""])[1]),
    }),
  });

  const belief = (found) => {
    const x = logarithmic(found);
    const inside = found.x.map((rate, i) => (rate >= found.low && rate <= found.high ? found.density[i] : null));
    return {
      options: base({
        scales: { x: x.scale, y: { range: [0, 1.1] } },
        axes: [x.axis, { show: false }],
        series: [
          {},
          { stroke: color("soft"), width: 1, points: { show: false } },
          { stroke: color("fresh"), width: 2, fill: color("fresh-soft"), points: { show: false } },
        ],
        padding: [8, 16, 0, 16],
        hooks: {
          draw: [
            (chart) => {
              chart.ctx.save();
              upright(chart, found.rate, color("fresh"), [3, 3]);
              chart.ctx.restore();
            },
          ],
        },
      }),
      data: [found.x, found.density, inside],
    };
  };

  const budget = (found) => {
    const x = logarithmic(found);
    const draw = (chart) => {
      chart.ctx.save();
      for (const [name, at, value] of found.points) {
        upright(chart, at, color("soft"), [3, 3]);
        marked(chart, at, value, name === "now" ? color("fresh") : color("panel"), name === "now" ? color("panel") : color("fresh"));
        chart.ctx.fillStyle = color("ink");
        chart.ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
        const left = chart.valToPos(at, "x", true);
        const isRight = left > chart.bbox.left + chart.bbox.width - 90 * devicePixelRatio;
        chart.ctx.textAlign = isRight ? "right" : "left";
        chart.ctx.fillText(
          `${name}: ${value.toFixed(1)} %`,
          left + (isRight ? -10 : 10) * devicePixelRatio,
          chart.valToPos(value, "y", true) + 18 * devicePixelRatio,
        );
      }
      chart.ctx.restore();
    };
    return {
      options: base({
        scales: { x: x.scale, y: { range: [0, 102] } },
        axes: [
          x.axis,
          axis({
            splits: [0, 25, 50, 75, 100],
            values: (_chart, splits) => splits.map((value) => `${value} %`),
            size: 52,
          }),
        ],
        series: [{}, { stroke: color("fresh"), width: 2, fill: color("fresh-soft"), points: { show: false } }],
        padding: [8, 24, 0, 0],
        hooks: { draw: [draw] },
        plugins: [tip((chart, at) => `${chart.data[1][at].toFixed(1)} % with ${perDay(chart.data[0][at])}`)],
      }),
      data: [found.x, found.freshness],
    };
  };

  const perDay = (rate) => {
    const units = [[86400, "second"], [1440, "minute"], [24, "hour"], [1, "day"]];
    const [days, name] = units.find(([many]) => rate >= many) || [1, "day"];
    return `${(rate / days).toPrecision(3).replace(/\.?0+$/, "")} visits per ${name}`;
  };

  // Pages by how often they change: a bar for each range of rates.
  const rateBars = (found) => {
    const x = logarithmic(found);
    return {
      options: base({
        scales: { x: x.scale, y: { range: (_chart, _low, high) => [0, high ? high * 1.1 : 1] } },
        axes: [x.axis, axis({ size: 52, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6, 1e7] })],
        series: [
          {},
          {
            fill: color("changed"),
            stroke: color("changed"),
            width: 0,
            paths: uPlot.paths.bars({ size: [0.9, 60], align: 1 }),
            points: { show: false },
          },
        ],
        padding: [8, 8, 0, 0],
        plugins: [tip((chart, at) => (chart.data[1][at] === null ? "" : `${chart.data[1][at]} pages, ${found.names[at]}`))],
      }),
      data: [found.x, found.pages],
    };
  };

  const kinds = { freshness, visits, timeline, belief, budget, rates: rateBars };
  const drawn = new Map();
  const numbers = new Map();

  const draw = (element) => {
    const { options, data } = kinds[element.dataset.chart](numbers.get(element));
    options.width = element.clientWidth;
    options.height = element.clientHeight;
    drawn.get(element)?.destroy();
    drawn.set(element, new uPlot(options, data, element));
  };

  // Adds a sample to the charts that are drawn from samples, and drops what is too old for them. A
  // sample that comes too soon after the one before it takes the place of that one's successor.
  const add = (row) => {
    for (const [element, found] of numbers) {
      if (!found.columns || element.dataset.from) continue;
      const times = found.columns[0] || [];
      const last = times.length - 1;
      if (last >= 0 && row[0] <= times[last]) return;
      if (last > 0 && row[0] - times[last - 1] < found.step) found.columns.forEach((column) => column.pop());
      row.forEach((value, i) => (found.columns[i] ||= []).push(value));
      while (times.length > 2 && times[0] < row[0] - found.length) found.columns.forEach((column) => column.shift());
    }
    for (const [element, found] of numbers) {
      if (found.columns) drawn.get(element).setData(kinds[element.dataset.chart](found).data);
    }
  };

  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const chart = drawn.get(target);
      if (chart && chart.width !== target.clientWidth) {
        chart.setSize({ width: target.clientWidth, height: target.clientHeight });
      }
    }
  });

  // Draws the charts of a part of the page that was read again, and forgets those that it had.
  const refresh = (part) => {
    for (const element of [...numbers.keys()].filter((one) => !one.isConnected)) {
      resized.unobserve(element);
      drawn.get(element).destroy();
      drawn.delete(element);
      numbers.delete(element);
    }
    for (const element of part.querySelectorAll("[data-chart]")) {
      numbers.set(element, JSON.parse(element.dataset.columns));
      draw(element);
      resized.observe(element);
    }
  };

  const start = () => {
    const byName = new Map();
    for (const element of document.querySelectorAll("[data-chart]")) {
      const found = element.dataset.from ? byName.get(element.dataset.from) : JSON.parse(element.dataset.columns);
      byName.set(element.dataset.chart, found);
      numbers.set(element, found);
      draw(element);
    }
    for (const element of numbers.keys()) resized.observe(element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  };

  const redraw = () => {
    for (const element of numbers.keys()) draw(element);
  };

  return { start, redraw, refresh, add, drawn };
})();
