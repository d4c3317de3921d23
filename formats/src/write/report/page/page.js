'use strict';
// Draws the views of a report. The views are described as JSON (#views); their numbers are one packed block (#data).
(async () => {
  const $ = (id) => document.getElementById(id);
  const make = (name, attributes = {}, text = '') => {
    const node = document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    node.textContent = text;
    return node;
  };
  const unpack = async (id) => {
    const bytes = Uint8Array.from(atob($(id).textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).arrayBuffer();
  };
  const say = (text) => {
    $('drawing').textContent = text;
  };

  if (!('DecompressionStream' in window)) {
    say('This browser is too old to draw the plots: Chrome 80, Firefox 113 or Safari 16.4, or later, can. The tables are complete.');
    return;
  }
  const script = document.createElement('script');
  script.textContent = new TextDecoder().decode(await unpack('plotly'));
  document.head.append(script);
  $('plotly').remove();
  const data = await unpack('data');
  const { views, maps } = JSON.parse($('views').textContent);
  const Plotly = window.Plotly;

  const types = { f32: Float32Array, u32: Uint32Array, u16: Uint16Array, u8: Uint8Array };
  const array = ({ type, offset, n }) => new types[type](data, offset, n);
  const GREY = 'rgb(150,150,150)';
  const FONT = { family: 'system-ui, "Segoe UI", "DejaVu Sans", Arial, sans-serif', size: 15, color: '#1c1c1c' };
  const CONFIG = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ['sendDataToCloud', 'select2d', 'lasso2d'] };
  const named = (label, unit) => (unit ? `${label} / ${unit}` : label);
  // Prefixes of SI where there is a unit: 12.5µs.
  const ticks = (unit) => (unit ? { exponentformat: 'SI', ticksuffix: unit } : { exponentformat: 'power' });
  const hover = (axis, unit) => (unit ? `%{${axis}:.4s}${unit}` : `%{${axis}:.5~g}`);
  const LINES = ['#0b5fa5', '#c2410c', '#2f7d32', '#6d28d9', '#a16207', '#0e7490', '#be185d', '#404040'];
  const DASHES = ['solid', 'dash', 'dot', 'dashdot'];

  // A slider with a label, the name of its place, and a button that plays it.
  const controls = (place, label, n, name, draw) => {
    const bar = make('div', { class: 'controls' });
    const id = `slider-${document.querySelectorAll('input[type=range]').length}`;
    const slider = make('input', { type: 'range', id, min: 0, max: n - 1, step: 1, value: 0 });
    const output = make('output', { for: id, 'aria-live': 'polite' });
    const button = make('button', { type: 'button' }, 'Play');
    let busy = false;
    let timer = 0;
    const show = async () => {
      const at = Number(slider.value);
      output.textContent = name(at);
      slider.setAttribute('aria-valuetext', name(at));
      if (busy) return;
      busy = true;
      let drawn = at;
      await draw(at);
      while (drawn !== Number(slider.value)) {
        drawn = Number(slider.value);
        await draw(drawn);
      }
      busy = false;
    };
    slider.addEventListener('input', show);
    button.addEventListener('click', () => {
      if (timer) {
        clearInterval(timer);
        timer = 0;
      } else {
        timer = setInterval(() => {
          slider.value = String((Number(slider.value) + 1) % (Number(slider.max) + 1));
          show();
        }, 160);
      }
      button.textContent = timer ? 'Pause' : 'Play';
    });
    bar.append(make('label', { for: id }, label), slider, output, button);
    place.append(bar);
    return {
      show,
      reset: (count, at) => {
        slider.max = String(count - 1);
        slider.value = String(at);
        return show();
      },
      go: (at) => {
        slider.value = String(at);
        return show();
      },
    };
  };

  const figure = (view) => {
    const node = make('figure', { 'aria-label': view.alt });
    $(view.place).append(node);
    if (view.title) node.append(make('h3', {}, view.title));
    return node;
  };
  const plot = (place, alt) => {
    const node = make('div', { class: 'plot', role: 'img', 'aria-label': alt });
    place.append(node);
    return node;
  };
  const caption = (node, view) => {
    if (view.note) node.append(make('figcaption', {}, view.note));
  };
  const space = (view, axis, range) => ({
    title: { text: named(axis, '') },
    ...ticks(view.length),
    nticks: 5,
    tickfont: { size: 12 },
    range,
  });

  // The numbers of a frame: null where there is nothing, NaN where a value is unknown.
  const coded = ({ codes, low, high }) => {
    const all = array(codes);
    const top = codes.type === 'u8' ? 250 : 65000;
    const [unknown, nothing] = codes.type === 'u8' ? [254, 255] : [65534, 65535];
    const factor = (high - low) / top;
    return (at) => {
      const code = all[at];
      if (code === nothing || code === undefined) return null;
      return code === unknown ? NaN : low + code * factor;
    };
  };
  const scale = (view) => {
    const map = maps[view.map || 'sequential'];
    if (!view.bands) return map;
    const colour = (x) => map[Math.min(map.length - 1, Math.round(x * (map.length - 1)))][1];
    const steps = [];
    for (let band = 0; band < view.bands; band += 1) {
      const own = colour((band + 0.5) / view.bands);
      steps.push([band / view.bands, own], [(band + 1) / view.bands, own]);
    }
    return steps;
  };
  const bar = (view) => ({ title: { text: named(view.label, view.unit), side: 'right' }, ...ticks(view.unit), len: 0.86, y: 0.46 });

  const chart = async (view) => {
    const node = figure(view);
    for (const panel of view.panels) {
      const traces = panel.series.map((series, at) => ({
        type: 'scatter',
        mode: 'lines',
        name: series.name,
        x: array(series.x),
        y: array(series.y),
        line: { color: LINES[at % LINES.length], dash: DASHES[Math.floor(at / LINES.length) % DASHES.length], width: 2, shape: series.steps ? 'hv' : 'linear' },
        hovertemplate: `${hover('y', panel.unit)} at ${hover('x', panel.across.unit)}`,
      }));
      await Plotly.newPlot(plot(node, `${view.alt}: ${panel.label}`), traces, {
        font: FONT,
        height: 380,
        margin: { l: 90, r: 20, t: 30, b: 60 },
        hovermode: 'closest',
        xaxis: { title: { text: named(panel.across.label, panel.across.unit) }, ...ticks(panel.across.unit), showline: true, mirror: true },
        yaxis: { title: { text: named(panel.label, panel.unit), standoff: 10 }, automargin: true, ...ticks(panel.unit), type: panel.log ? 'log' : 'linear', showline: true, mirror: true },
        showlegend: traces.length > 1,
        legend: { font: { size: 13 } },
      }, CONFIG);
    }
    caption(node, view);
  };

  // What a slider shows: frames that are there, or how far a wave has come.
  const frames = (view) => {
    const value = coded(view);
    if (!view.reveal) return { n: view.frames.length, name: (at) => view.frames[at], value: (at, i) => value(at * view.stride + i) };
    const n = 41;
    const now = (at) => view.low + (view.high - view.low) * at / (n - 1);
    return {
      n,
      first: n - 1,
      name: (at) => `t = ${Number((now(at) / view.reveal.factor).toPrecision(5))} ${view.reveal.unit}`,
      value: (at, i) => {
        const time = value(i);
        return time === null || at === n - 1 || time <= now(at) ? time : NaN;
      },
    };
  };

  const planeLayout = (view, plane) => ({
    font: FONT,
    height: 460,
    title: { text: plane.name, font: { size: 15 } },
    margin: { l: 80, r: 10, t: plane.name ? 40 : 16, b: 60 },
    plot_bgcolor: '#fff',
    xaxis: { title: { text: plane.axes[0] }, ...ticks(view.length), constrain: 'domain', showgrid: false, zeroline: false, showline: true, mirror: true },
    yaxis: { title: { text: plane.axes[1], standoff: 10 }, automargin: true, ...ticks(view.length), scaleanchor: 'x', constrain: 'domain', showgrid: false, zeroline: false, showline: true, mirror: true },
  });
  const place = (plane) => ({
    x0: plane.x0, dx: plane.dx, y0: plane.y0, dy: plane.dy,
  });
  const rows = (plane, value) => {
    const z = [];
    for (let row = 0; row < plane.height; row += 1) {
      const line = new Array(plane.width);
      for (let column = 0; column < plane.width; column += 1) line[column] = value(row * plane.width + column);
      z.push(line);
    }
    return z;
  };
  const known = (z) => z.map((line) => line.map((x) => (Number.isNaN(x) ? null : x)));
  const unknown = (z) => z.map((line) => line.map((x) => (Number.isNaN(x) ? 1 : null)));
  const heat = (view, plane, z) => [
    {
      type: 'heatmap', ...place(plane), z: unknown(z), colorscale: [[0, GREY], [1, GREY]], showscale: false, hoverinfo: 'skip',
    },
    {
      type: 'heatmap', ...place(plane), z: known(z), zmin: view.range[0], zmax: view.range[1], colorscale: scale(view),
      colorbar: bar(view), hovertemplate: `${view.label} = ${hover('z', view.unit)}<br>(${hover('x', view.length)}, ${hover('y', view.length)})<extra></extra>`,
    },
  ];

  const planes = async (view) => {
    const node = figure(view);
    const of = frames(view);
    const group = make('div', { class: 'planes' });
    const at = (frame, plane) => rows(plane, (i) => of.value(frame, plane.first + i));
    const plots = view.planes.map((plane) => plot(group, `${view.alt} ${plane.name}`));
    const first = of.first ?? 0;
    const start = async () => {
      for (const [index, plane] of view.planes.entries()) {
        await Plotly.newPlot(plots[index], heat(view, plane, at(first, plane)), planeLayout(view, plane), CONFIG);
      }
    };
    if (of.n > 1) {
      const slider = controls(node, view.slider, of.n, of.name, async (frame) => {
        for (const [index, plane] of view.planes.entries()) {
          const z = at(frame, plane);
          await Plotly.restyle(plots[index], { z: [unknown(z), known(z)] });
        }
      });
      node.append(group);
      await start();
      await slider.go(view.start ?? first);
    } else {
      node.append(group);
      await start();
    }
    caption(node, view);
  };

  const scene = (view) => ({
    font: FONT,
    height: 620,
    margin: { l: 0, r: 0, t: 10, b: 0 },
    uirevision: 'kept',
    scene: {
      aspectmode: 'data',
      camera: { eye: { x: 0.9, y: -1.6, z: 0.9 }, projection: { type: 'orthographic' } },
      xaxis: space(view, 'x', view.box && [view.box[0][0], view.box[1][0]]),
      yaxis: space(view, 'y', view.box && [view.box[0][1], view.box[1][1]]),
      zaxis: space(view, 'z', view.box && [view.box[0][2], view.box[1][2]]),
    },
  });
  // Colours are those of the bar, unless a light is asked for.
  const DARK = { ambient: 1, diffuse: 0, specular: 0, fresnel: 0, roughness: 1 };
  const LIGHT = { ambient: 0.55, diffuse: 0.6, specular: 0.05, fresnel: 0, roughness: 0.9 };
  const light = (node, target) => {
    const bar = make('div', { class: 'controls' });
    const id = `light-${document.querySelectorAll('input[type=checkbox]').length}`;
    const box = make('input', { type: 'checkbox', id });
    box.addEventListener('change', () => Plotly.restyle(target, { lighting: box.checked ? LIGHT : DARK }));
    bar.append(box, make('label', { for: id }, 'Light from a side, which shows the shape better; colours then differ from the bar'));
    node.append(bar);
  };
  const mesh = (view) => {
    const points = array(view.points);
    const triangles = array(view.triangles);
    const pick = (list, k) => Array.from({ length: list.length / 3 }, (_, i) => list[3 * i + k]);
    return {
      type: 'mesh3d', x: pick(points, 0), y: pick(points, 1), z: pick(points, 2),
      i: pick(triangles, 0), j: pick(triangles, 1), k: pick(triangles, 2), lighting: DARK, flatshading: true,
    };
  };

  const surface = async (view) => {
    const node = figure(view);
    const of = frames(view);
    const n = view.points.n / 3;
    const [low, high] = view.range;
    const triangles = array(view.triangles);
    // Triangles with an unknown corner are grey.
    const look = (frame) => {
      const intensity = new Array(n);
      const isKnown = new Array(n);
      for (let i = 0; i < n; i += 1) {
        const value = of.value(frame, view.first + i);
        isKnown[i] = value !== null && !Number.isNaN(value);
        intensity[i] = isKnown[i] ? Math.max(low, Math.min(high, value)) : low;
      }
      const faces = [[[], [], []], [[], [], []]];
      for (let at = 0; at < triangles.length; at += 3) {
        const to = faces[isKnown[triangles[at]] && isKnown[triangles[at + 1]] && isKnown[triangles[at + 2]] ? 0 : 1];
        for (let k = 0; k < 3; k += 1) to[k].push(triangles[at + k]);
      }
      return { intensity, faces };
    };
    const target = plot(node, view.alt);
    const draw = async (frame) => {
      const { intensity, faces: [colours, grey] } = look(frame);
      await Plotly.restyle(target, { intensity: [intensity], i: [colours[0]], j: [colours[1]], k: [colours[2]] }, [0]);
      if (grey[0].length || target.data[1].i.length) await Plotly.restyle(target, { i: [grey[0]], j: [grey[1]], k: [grey[2]] }, [1]);
    };
    const { intensity, faces: [colours, grey] } = look(of.first ?? 0);
    const solid = mesh(view);
    const { x, y, z } = solid;
    await Plotly.newPlot(target, [{
      ...solid, i: colours[0], j: colours[1], k: colours[2], intensity, cmin: low, cmax: high, colorscale: scale(view), colorbar: bar(view),
      hovertemplate: `(${hover('x', view.length)}, ${hover('y', view.length)}, ${hover('z', view.length)})<br>${view.label} = ${hover('intensity', view.unit)}<extra></extra>`,
    }, {
      type: 'mesh3d', x, y, z, i: grey[0], j: grey[1], k: grey[2], color: GREY, lighting: DARK, flatshading: true, hoverinfo: 'x+y+z',
    }], scene(view), CONFIG);
    if (of.n > 1) {
      const slider = controls(node, view.slider, of.n, of.name, draw);
      await slider.go(view.start ?? of.first ?? 0);
    }
    light(node, target);
    caption(node, view);
  };

  const parts = async (view) => {
    const node = figure(view);
    const colours = array(view.colours);
    const palette = view.palette.map(([r, g, b]) => `rgb(${r},${g},${b})`);
    if (view.planes) {
      const codes = array(view.codes);
      const nothing = view.codes.type === 'u16' ? 65535 : 4294967295;
      const [plane] = view.planes;
      const part = (i) => (codes[i] === nothing ? null : codes[i]);
      const steps = palette.flatMap((colour, at) => [[at / palette.length, colour], [(at + 1) / palette.length, colour]]);
      await Plotly.newPlot(plot(node, view.alt), [{
        type: 'heatmap', ...place(plane), z: rows(plane, (i) => (part(i) === null ? null : colours[part(i)])), customdata: rows(plane, part),
        zmin: -0.5, zmax: palette.length - 0.5, colorscale: steps, showscale: false,
        hovertemplate: `${view.label} %{customdata}<br>(${hover('x', view.length)}, ${hover('y', view.length)})<extra></extra>`,
      }], planeLayout(view, plane), CONFIG);
    } else {
      const codes = array(view.codes);
      const facecolor = Array.from(codes, (code) => palette[colours[code]]);
      const target = plot(node, view.alt);
      await Plotly.newPlot(target, [{ ...mesh(view), facecolor, hoverinfo: 'x+y+z' }], scene(view), CONFIG);
      light(node, target);
    }
    caption(node, view);
  };

  // Voxels: layers along each axis, and the outer faces.
  const volume = async (view) => {
    const node = figure(view);
    const value = coded(view);
    const [nx, ny, nz] = view.size;
    const at = (i, j, k) => (i < 0 || j < 0 || k < 0 || i >= nx || j >= ny || k >= nz ? null : value(i + nx * (j + ny * k)));
    const names = ['x', 'y', 'z'];
    const others = [[1, 2], [0, 2], [0, 1]];
    const target = plot(node, view.alt);
    let normal = view.normal;
    const middle = (axis, index) => view.origin[axis] + (index + 0.5) * view.spacing;
    const plane = () => {
      const [a, b] = others[normal];
      return {
        width: view.size[a], height: view.size[b], x0: middle(a, 0), dx: view.spacing, y0: middle(b, 0), dy: view.spacing,
        axes: [names[a], names[b]], name: '',
      };
    };
    const layer = (index) => rows(plane(), (i) => {
      const [a, b] = others[normal];
      const position = [0, 0, 0];
      position[normal] = index;
      position[a] = i % view.size[a];
      position[b] = Math.floor(i / view.size[a]);
      return at(...position);
    });
    const choice = make('div', { class: 'controls' });
    const id = `axis-${document.querySelectorAll('select').length}`;
    const select = make('select', { id });
    names.forEach((name, axis) => select.append(make('option', { value: axis }, name)));
    select.value = String(normal);
    choice.append(make('label', { for: id }, 'Layers along'), select);
    node.prepend(choice);
    if (view.title) node.prepend(node.querySelector('h3'));
    const words = (index) => `${names[normal]} = ${Number((middle(normal, index) / view.shown.factor).toPrecision(5))} ${view.shown.unit}`;
    const draw = async (index) => {
      const z = layer(index);
      await Plotly.react(target, heat(view, plane(), z), planeLayout(view, plane()), CONFIG);
    };
    await draw(view.start);
    const slider = controls(node, 'Layer', view.size[normal], words, draw);
    await slider.go(view.start);
    select.addEventListener('change', () => {
      normal = Number(select.value);
      slider.reset(view.size[normal], Math.floor(view.size[normal] / 2));
    });
    // The outer faces; of a coarser grid where there are too many.
    for (let step = 1; ; step *= 2) {
      const coarse = (i, j, k) => {
        let sum = 0;
        let count = 0;
        for (let c = 0; c < step ** 3; c += 1) {
          const x = at(i * step + (c % step), j * step + (Math.floor(c / step) % step), k * step + Math.floor(c / step / step));
          if (x !== null && !Number.isNaN(x)) {
            sum += x;
            count += 1;
          }
        }
        return 2 * count >= step ** 3 ? sum / count : null;
      };
      const size = view.size.map((n) => Math.ceil(n / step));
      const cells = new Array(size[0] * size[1] * size[2]);
      for (let k = 0, c = 0; k < size[2]; k += 1) for (let j = 0; j < size[1]; j += 1) for (let i = 0; i < size[0]; i += 1, c += 1) cells[c] = step === 1 ? at(i, j, k) : coarse(i, j, k);
      const cell = (p) => (p.some((x, axis) => x < 0 || x >= size[axis]) ? null : cells[p[0] + size[0] * (p[1] + size[1] * p[2])]);
      const corners = [[], [], []];
      const faces = [[], [], []];
      const values = [];
      let n = 0;
      for (let k = 0; k < size[2]; k += 1) for (let j = 0; j < size[1]; j += 1) for (let i = 0; i < size[0]; i += 1) {
        const own = cell([i, j, k]);
        if (own === null) continue;
        for (let face = 0; face < 6; face += 1) {
          const axis = face >> 1;
          const up = face & 1;
          const beside = [i, j, k];
          beside[axis] += up ? 1 : -1;
          if (cell(beside) !== null) continue;
          const [a, b] = others[axis];
          for (const [da, db] of [[0, 0], [1, 0], [1, 1], [0, 1]]) {
            const p = [i, j, k];
            p[axis] += up;
            p[a] += da;
            p[b] += db;
            p.forEach((x, c) => corners[c].push(view.origin[c] + x * step * view.spacing));
          }
          [[n, n + 1, n + 2], [n, n + 2, n + 3]].forEach((t) => t.forEach((x, c) => faces[c].push(x)));
          values.push(own, own);
          n += 4;
        }
      }
      if (n > 4 * 40000) continue;
      const solid = plot(node, `${view.alt}: outer faces in space`);
      const [low, high] = view.range;
      await Plotly.newPlot(solid, [{
        type: 'mesh3d', x: corners[0], y: corners[1], z: corners[2], i: faces[0], j: faces[1], k: faces[2],
        intensity: values.map((x) => Math.max(low, Math.min(high, x))), intensitymode: 'cell', cmin: low, cmax: high,
        colorscale: scale(view), colorbar: bar(view), lighting: DARK, flatshading: true,
        hovertemplate: `(${hover('x', view.length)}, ${hover('y', view.length)}, ${hover('z', view.length)})<extra></extra>`,
      }], scene(view), CONFIG);
      light(node, solid);
      if (step > 1) node.append(make('figcaption', {}, `The view in space shows blocks of ${step} × ${step} × ${step} of these cells.`));
      break;
    }
    caption(node, view);
  };

  const lines = async (view) => {
    const node = figure(view);
    const n = view.n_points;
    const places = array(view.positions);
    const ends = view.segments ? array(view.segments) : null;
    const value = coded(view);
    const m = view.stride;
    const [low, high] = view.range;
    const step = [0, 1, 2].map((axis) => (view.box[1][axis] - view.box[0][axis]) / 65535);
    const at = (frame, point, axis) => view.box[0][axis] + places[3 * (frame * n + point) + axis] * step[axis];
    const clip = (x) => Math.max(low, Math.min(high, x));
    const traces = (frame) => {
      const xyz = [[], [], []];
      const colour = [];
      const gone = [[], [], []];
      if (!ends) {
        for (let point = 0; point < n; point += 1) {
          const own = value(frame * m + point);
          if (own === null) continue;
          for (let axis = 0; axis < 3; axis += 1) xyz[axis].push(at(frame, point, axis));
          colour.push(clip(own));
        }
        return [xyz, colour, gone];
      }
      for (let line = 0; line < ends.length / 2; line += 1) {
        const [a, b] = [ends[2 * line], ends[2 * line + 1]];
        const own = value(frame * m + line);
        if (own === null) {
          if (value(line) !== null) for (let axis = 0; axis < 3; axis += 1) gone[axis].push(0.5 * (at(frame, a, axis) + at(frame, b, axis)));
          continue;
        }
        for (let axis = 0; axis < 3; axis += 1) xyz[axis].push(at(frame, a, axis), at(frame, b, axis), null);
        colour.push(clip(own), clip(own), clip(own));
      }
      return [xyz, colour, gone];
    };
    const style = { cmin: low, cmax: high, colorscale: scale(view), colorbar: bar(view), showscale: view.map !== 'parts' };
    const last = view.frames.length - 1;
    const [xyz, colour, gone] = traces(0);
    const [x, y, z] = xyz;
    const target = plot(node, view.alt);
    const layout = scene(view);
    layout.showlegend = false;
    await Plotly.newPlot(target, [
      ends
        ? { type: 'scatter3d', mode: 'lines', x, y, z, line: { color: colour, width: 3, ...style }, hoverinfo: 'x+y+z', connectgaps: false }
        : { type: 'scatter3d', mode: 'markers', x, y, z, marker: { color: colour, size: 3, ...style }, hoverinfo: 'x+y+z' },
      {
        type: 'scatter3d', mode: 'markers', x: gone[0], y: gone[1], z: gone[2], name: 'gone',
        marker: { color: '#c00000', size: 3, symbol: 'x' }, hovertemplate: 'spring gone<br>(%{x}, %{y}, %{z})<extra></extra>',
      },
    ], layout, CONFIG);
    if (last === 0) {
      caption(node, view);
      return;
    }
    const slider = controls(node, view.slider, last + 1, (frame) => view.frames[frame], async (frame) => {
      const [places, colours, lost] = traces(frame);
      const key = ends ? 'line.color' : 'marker.color';
      await Plotly.restyle(target, { x: [places[0]], y: [places[1]], z: [places[2]], [key]: [colours] }, [0]);
      await Plotly.restyle(target, { x: [lost[0]], y: [lost[1]], z: [lost[2]] }, [1]);
    });
    await slider.go(view.start ?? 0);
    caption(node, view);
  };

  const kinds = { chart, planes, surface, parts, volume, lines };
  for (const view of views) await kinds[view.kind](view);
  $('drawing').remove();
  document.documentElement.setAttribute('data-drawn', String(views.length));
})().catch((error) => {
  document.getElementById('drawing').textContent = `The plots cannot be drawn: ${error.message}`;
  console.error(error);
});
