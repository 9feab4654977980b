// SPDX-License-Identifier: Apache-2.0
// Where the blocks of a flow graph stand: in layers from the top, by the longest way without back
// edges; within a layer ordered by where their neighbours stand. Edges that skip layers run through
// places that are kept free for them. Where these would be too many, the longest ways run aside, in
// lanes at the left, one for all ways to the same block. Those that go back up run in lanes at the
// right: all ways to the same block in one, and blocks whose ways are not beside each other share it.

export interface Box {
  width: number;
  height: number;
}
export interface Edge {
  from: number;
  to: number;
  /** It runs aside sooner than others. */
  isMinor?: boolean;
}
export interface Placed {
  boxes: { x: number; y: number }[];
  edges: Way[];
  width: number;
  height: number;
}

/** The way of an edge. */
export interface Way {
  points: [number, number][];
  /** It goes back up. */
  back: boolean;
  /** It runs aside. */
  aside: boolean;
  /** It ends where it meets a longer way to the same block, which continues for both. */
  joins: boolean;
}

interface Node extends Box {
  layer: number;
  order: number;
  x: number;
  up: number[];
  down: number[];
}

const GAP_X = 28;
const GAP_Y = 46;
const LANE = 12;
/** So many places are kept free for edges, and for minor ones: work and width grow with them. */
const FREE_PLACES = 4000;
const FREE_FOR_MINOR = 500;

/** Places boxes. Box 0 is where control enters. Equal input gives equal output. */
export function layOut(boxes: Box[], edges: Edge[]): Placed {
  const back = backEdges(boxes.length, edges);
  const layers = longestWays(boxes.length, edges, back);
  const nodes: Node[] = boxes.map((box, i) => (
    { ...box, layer: layers[i], order: 0, x: 0, up: [], down: [] }
  ));
  const lanes = lanesAside(edges, back, layers);
  const chains = edges.map((edge, i) => (back[i] || lanes.has(i) ? [] : chain(nodes, edge)));
  const rows = order(nodes);
  place(nodes, rows);
  const left = lanes.size ? new Set(lanes.values()).size * LANE + GAP_X / 2 : 0;
  for (const node of nodes) node.x += left;
  const tops: number[] = [];
  const lowest: number[] = [];
  let y = 0;
  for (const row of rows) {
    const height = row.reduce((most, n) => Math.max(most, nodes[n].height), 0);
    tops.push(y);
    lowest.push(y + height);
    y += height + GAP_Y;
  }
  const placed = boxes.map((_, i) => ({ x: nodes[i].x, y: tops[nodes[i].layer] }));
  const backLanes = lanesBack(edges, back, layers);
  return route({ nodes, placed, tops, lowest, edges, lanes, backLanes, chains, left }, y - GAP_Y);
}

/** Returns the lanes of the edges that go back up, from 0 at the boxes: the shortest ones there. */
function lanesBack(edges: Edge[], back: boolean[], layers: number[]): Map<number, number> {
  const reach = new Map<number, number>();
  edges.forEach(({ from, to }, i) => {
    if (back[i]) reach.set(to, Math.max(reach.get(to) ?? 0, layers[from]));
  });
  const length = (to: number) => reach.get(to)! - layers[to];
  const targets = [...reach.keys()].sort((a, b) => length(a) - length(b) || a - b);
  const laneOf = new Map<number, number>();
  const lanes: number[][] = [];
  for (const to of targets) {
    const isApart = (other: number) => reach.get(other)! < layers[to] || reach.get(to)! < layers[other];
    let lane = lanes.findIndex((all) => all.every(isApart));
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane].push(to);
    laneOf.set(to, lane);
  }
  return new Map(edges.flatMap(({ to }, i) => (back[i] ? [[i, laneOf.get(to)!] as const] : [])));
}

/** Returns the lanes of the edges that run aside, from 0 at the boxes: the longest edges. */
function lanesAside(edges: Edge[], back: boolean[], layers: number[]): Map<number, number> {
  const length = (i: number) => layers[edges[i].to] - layers[edges[i].from];
  const long = edges.flatMap((_, i) => (back[i] || length(i) < 2 ? [] : [i]));
  long.sort((a, b) => length(a) - length(b));
  let free = FREE_PLACES;
  let freeForMinor = FREE_FOR_MINOR;
  const aside = long.filter((i) => (
    edges[i].isMinor ? (freeForMinor -= length(i) - 1) < 0 : (free -= length(i) - 1) < 0));
  // Nearer blocks have the inner lanes: their ways cross fewer.
  const targets = [...new Set(aside.map((i) => edges[i].to))].sort((a, b) => layers[a] - layers[b] || a - b);
  const lane = new Map(targets.map((to, i) => [to, i]));
  return new Map(aside.map((i) => [i, lane.get(edges[i].to)!]));
}

/** Returns which edges go back to a block that is still open in a search in depth. */
function backEdges(n: number, edges: Edge[]): boolean[] {
  const out: number[][] = Array.from({ length: n }, () => []);
  edges.forEach((edge, i) => out[edge.from].push(i));
  const state = new Uint8Array(n);
  const back: boolean[] = edges.map(() => false);
  for (let root = 0; root < n; root++) {
    if (state[root]) continue;
    const stack: [number, number][] = [[root, 0]];
    state[root] = 1;
    while (stack.length) {
      const top = stack[stack.length - 1];
      const edge = out[top[0]][top[1]++];
      if (edge === undefined) {
        state[top[0]] = 2;
        stack.pop();
      } else if (state[edges[edge].to] === 1) {
        back[edge] = true;
      } else if (state[edges[edge].to] === 0) {
        state[edges[edge].to] = 1;
        stack.push([edges[edge].to, 0]);
      }
    }
  }
  return back;
}

function longestWays(n: number, edges: Edge[], back: boolean[]): number[] {
  const layer: number[] = new Array(n).fill(0);
  const waits: number[] = new Array(n).fill(0);
  const out: number[][] = Array.from({ length: n }, () => []);
  edges.forEach((edge, i) => {
    if (back[i]) return;
    waits[edge.to]++;
    out[edge.from].push(edge.to);
  });
  const ready = waits.flatMap((w, i) => (w === 0 ? [i] : []));
  for (let i = 0; i < ready.length; i++) {
    for (const to of out[ready[i]]) {
      layer[to] = Math.max(layer[to], layer[ready[i]] + 1);
      if (--waits[to] === 0) ready.push(to);
    }
  }
  return layer;
}

/** Links both ends through a thin node in each layer between. Returns all of them. */
function chain(nodes: Node[], edge: Edge): number[] {
  const way = [edge.from];
  for (let layer = nodes[edge.from].layer + 1; layer < nodes[edge.to].layer; layer++) {
    nodes.push({ width: LANE, height: 0, layer, order: 0, x: 0, up: [], down: [] });
    way.push(nodes.length - 1);
  }
  way.push(edge.to);
  for (let i = 1; i < way.length; i++) {
    nodes[way[i - 1]].down.push(way[i]);
    nodes[way[i]].up.push(way[i - 1]);
  }
  return way;
}

/** Orders each layer: sweeps down and up, each node between its neighbours. */
function order(nodes: Node[]): number[][] {
  const rows: number[][] = [];
  nodes.forEach((node, i) => (rows[node.layer] ??= []).push(i));
  const renumber = (row: number[]) => row.forEach((n, i) => (nodes[n].order = i));
  rows.forEach(renumber);
  let best = rows.map((row) => [...row]);
  let fewest = crossings(nodes, rows);
  for (let sweep = 0; sweep < 12 && fewest > 0; sweep++) {
    const down = sweep % 2 === 0;
    const sequence = down ? rows : [...rows].reverse();
    for (const row of sequence) {
      const middle = new Map<number, number>();
      for (const n of row) {
        const near = down ? nodes[n].up : nodes[n].down;
        const sum = near.reduce((total, other) => total + nodes[other].order, 0);
        middle.set(n, near.length ? sum / near.length : nodes[n].order);
      }
      row.sort((a, b) => middle.get(a)! - middle.get(b)! || a - b);
      renumber(row);
    }
    const now = crossings(nodes, rows);
    if (now < fewest) {
      fewest = now;
      best = rows.map((row) => [...row]);
    }
  }
  best.forEach(renumber);
  return best;
}

/** Returns how many pairs of edges between neighbour layers cross. */
export function crossings(nodes: { order: number; down: number[] }[], rows: number[][]): number {
  let total = 0;
  for (const row of rows) {
    const ends: number[] = [];
    for (const n of row) {
      const here = nodes[n].down.map((other) => nodes[other].order).sort((a, b) => a - b);
      for (const end of here) {
        // Ends stay sorted: those to the right of this one cross it.
        let low = 0;
        let high = ends.length;
        while (low < high) {
          const middle = (low + high) >> 1;
          if (ends[middle] <= end) low = middle + 1;
          else high = middle;
        }
        total += ends.length - low;
      }
      for (const end of here) insert(ends, end);
    }
  }
  return total;
}

function insert(sorted: number[], value: number): void {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, value);
}

/** Gives each node its x (its middle): near its neighbours', without overlap. */
function place(nodes: Node[], rows: number[][]): void {
  for (const row of rows) {
    let x = 0;
    for (const n of row) {
      nodes[n].x = x + nodes[n].width / 2;
      x += nodes[n].width + GAP_X;
    }
  }
  for (let sweep = 0; sweep < 10; sweep++) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      const wish = row.map((n) => {
        const near = down ? nodes[n].up : nodes[n].down;
        return near.length ? near.reduce((sum, o) => sum + nodes[o].x, 0) / near.length : nodes[n].x;
      });
      settle(nodes, row, wish);
    }
  }
  const left = nodes.reduce((least, node) => Math.min(least, node.x - node.width / 2), Infinity);
  for (const node of nodes) node.x -= left;
}

/** Moves a row to its wishes: groups that would overlap share the mean of theirs. */
function settle(nodes: Node[], row: number[], wish: number[]): void {
  // `sum` is that of the places where its nodes' wishes would put the group.
  const groups: { from: number; to: number; at: number; sum: number; offsets: number[] }[] = [];
  row.forEach((_, i) => {
    groups.push({ from: i, to: i, at: wish[i], sum: wish[i], offsets: [0] });
    for (;;) {
      const last = groups[groups.length - 1];
      const before = groups[groups.length - 2];
      if (!before) break;
      const gap = (nodes[row[before.to]].width + nodes[row[last.from]].width) / 2 + GAP_X;
      const end = before.at + before.offsets[before.offsets.length - 1];
      if (end + gap <= last.at) break;
      const shift = before.offsets[before.offsets.length - 1] + gap;
      for (const offset of last.offsets) before.offsets.push(offset + shift);
      before.to = last.to;
      before.sum += last.sum - shift * last.offsets.length;
      before.at = before.sum / before.offsets.length;
      groups.pop();
    }
  });
  for (const group of groups) {
    for (let j = group.from; j <= group.to; j++) nodes[row[j]].x = group.at + group.offsets[j - group.from];
  }
}

interface Plan {
  nodes: Node[];
  /** The boxes, as they are drawn. */
  placed: { x: number; y: number }[];
  /** Of each layer: where it begins, and where its tallest box ends. */
  tops: number[];
  lowest: number[];
  edges: Edge[];
  /** Of the edges that run aside, and of those that go back up. */
  lanes: Map<number, number>;
  backLanes: Map<number, number>;
  chains: number[][];
  /** Where the boxes begin: before it are the lanes of edges that run aside. */
  left: number;
}

/** Draws the edges: down through their lanes, back ones around the right side, some around the left. */
function route(plan: Plan, height: number): Placed {
  const { nodes, placed, tops, lowest, edges, lanes, backLanes, chains } = plan;
  const right = nodes.reduce((most, node) => Math.max(most, node.x + node.width / 2), 0);
  const port = ports(nodes, edges, lanes, backLanes);
  // The longest way to a block is drawn to its end.
  const whole = longest(lanes.keys(), edges, (i, other) => placed[edges[i].from].y < placed[edges[other].from].y);
  const wholeBack = longest(backLanes.keys(), edges, (i, other) => placed[edges[i].from].y > placed[edges[other].from].y);
  const drawn = edges.map((edge, i): Way => {
    const from: [number, number] = [port.from[i], placed[edge.from].y + nodes[edge.from].height];
    const to: [number, number] = [port.to[i], placed[edge.to].y];
    const around = (x: number, n: number): [number, number][] => {
      const below = lowest[nodes[edge.from].layer] + 10 + (n % 4) * 4;
      const above = to[1] - 10 - (n % 4) * 4;
      return [from, [from[0], below], [x, below], [x, above], [to[0], above], to];
    };
    const up = backLanes.get(i);
    if (up !== undefined) {
      const joins = wholeBack.get(edge.to) !== i;
      const way = around(right + GAP_X / 2 + (up + 1) * LANE, up + 1);
      return { points: joins ? way.slice(0, 3) : way, back: true, aside: false, joins };
    }
    const aside = lanes.get(i);
    if (aside !== undefined) {
      const joins = whole.get(edge.to) !== i;
      const way = around(plan.left - GAP_X / 2 - aside * LANE, aside);
      return { points: joins ? way.slice(0, 3) : way, back: false, aside: true, joins };
    }
    const points: [number, number][] = [from];
    // Past the taller boxes of its layer, before it turns.
    const bottom = lowest[nodes[edge.from].layer];
    if (bottom > from[1] + 1) points.push([from[0], bottom]);
    for (const n of chains[i].slice(1, -1)) {
      points.push([nodes[n].x, tops[nodes[n].layer] - GAP_Y / 4]);
      points.push([nodes[n].x, lowest[nodes[n].layer] + GAP_Y / 4]);
    }
    points.push(to);
    return { points, back: false, aside: false, joins: false };
  });
  const taken = new Set(backLanes.values()).size;
  return { boxes: placed, edges: drawn, width: right + GAP_X + (taken + 1) * LANE, height: height + 30 };
}

/** Returns the edge to each block that is longer than the others of `which`. */
function longest(
  which: Iterable<number>, edges: Edge[], isLonger: (i: number, other: number) => boolean,
): Map<number, number> {
  const found = new Map<number, number>();
  for (const i of which) {
    const other = found.get(edges[i].to);
    if (other === undefined || isLonger(i, other)) found.set(edges[i].to, i);
  }
  return found;
}

/**
 * Returns where edges leave and enter: spread over the middle of a box, in the order of their ends.
 * Those that run aside share the leftmost place, those that come back up the rightmost.
 */
function ports(
  nodes: Node[], edges: Edge[], lanes: Map<number, number>, backLanes: Map<number, number>,
): { from: number[]; to: number[] } {
  const spread = (end: "from" | "to", other: "from" | "to") => {
    const at: number[] = new Array(edges.length).fill(0);
    const groups = new Map<number, number[]>();
    edges.forEach((edge, i) => {
      const there = groups.get(edge[end]);
      if (there) there.push(i);
      else groups.set(edge[end], [i]);
    });
    for (const [n, all] of groups) {
      const isLast = (i: number) => end === "to" && backLanes.has(i);
      const list = all.filter((i) => !lanes.has(i) && !isLast(i));
      const first = all.some((i) => lanes.has(i)) ? 1 : 0;
      const places = list.length + first + (all.some(isLast) ? 1 : 0);
      list.sort((a, b) => nodes[edges[a][other]].x - nodes[edges[b][other]].x || a - b);
      const step = Math.min(28, (nodes[n].width - 16) / places);
      const x = (k: number) => nodes[n].x + (k - (places - 1) / 2) * step;
      for (const i of all) at[i] = isLast(i) ? x(places - 1) : x(0);
      list.forEach((i, k) => (at[i] = x(k + first)));
    }
    return at;
  };
  return { from: spread("from", "to"), to: spread("to", "from") };
}
