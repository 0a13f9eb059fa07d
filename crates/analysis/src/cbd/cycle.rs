//! Cycles of a directed graph: is there one, where, and which is the shortest.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;

/// A graph in compressed rows: the successors of `v` are `next[first[v]..first[v + 1]]`.
pub(super) struct Graph {
    pub first: Vec<u32>,
    pub next: Vec<u32>,
}

impl Graph {
    fn len(&self) -> usize {
        self.first.len() - 1
    }
    fn successors(&self, v: u32) -> &[u32] {
        &self.next[self.first[v as usize] as usize..self.first[v as usize + 1] as usize]
    }
    pub fn edge_count(&self) -> usize {
        self.next.len()
    }
}

/// Removes vertices without a predecessor, repeatedly; the rest is on a cycle or behind one.
fn core(graph: &Graph) -> Vec<u32> {
    let mut entering = vec![0u32; graph.len()];
    for &v in &graph.next {
        entering[v as usize] += 1;
    }
    let mut free: Vec<u32> =
        (0..graph.len() as u32).filter(|&v| entering[v as usize] == 0).collect();
    while let Some(v) = free.pop() {
        for &w in graph.successors(v) {
            entering[w as usize] -= 1;
            if entering[w as usize] == 0 {
                free.push(w);
            }
        }
    }
    (0..graph.len() as u32).filter(|&v| entering[v as usize] > 0).collect()
}

/// True if the graph has a cycle.
pub(super) fn has_cycle(graph: &Graph) -> bool {
    !core(graph).is_empty()
}

/// The strongly connected components with a cycle, each ascending, ordered by their first vertex.
pub(super) fn components(graph: &Graph) -> Vec<Vec<u32>> {
    let core = core(graph);
    let mut place = vec![u32::MAX; graph.len()];
    let mut inner = DiGraph::<(), (), u32>::with_capacity(core.len(), 0);
    for &v in &core {
        place[v as usize] = inner.add_node(()).index() as u32;
    }
    for &v in &core {
        for &w in graph.successors(v).iter().filter(|&&w| place[w as usize] != u32::MAX) {
            inner.add_edge(place[v as usize].into(), place[w as usize].into(), ());
        }
    }
    // Kosaraju and not Tarjan: the latter's implementation recurses, and a component may be as long
    // as the fabric is large.
    let mut found: Vec<Vec<u32>> = kosaraju_scc(&inner)
        .into_iter()
        .filter(|c| c.len() > 1 || inner.contains_edge(c[0], c[0]))
        .map(|c| {
            let mut vertices: Vec<u32> = c.iter().map(|v| core[v.index()]).collect();
            vertices.sort_unstable();
            vertices
        })
        .collect();
    found.sort_unstable();
    found
}

/// A shortest cycle; of several the one found first from the lowest vertex, which comes first in
/// it.
pub(super) fn shortest(graph: &Graph, components: &[Vec<u32>]) -> Option<Vec<u32>> {
    let mut best: Option<Vec<u32>> = None;
    let mut component_of = vec![u32::MAX; graph.len()];
    for (number, component) in components.iter().enumerate() {
        component.iter().for_each(|&v| component_of[v as usize] = number as u32);
    }
    // Search marks: valid when `seen` holds the number of the current search.
    let (mut seen, mut parent) = (vec![u32::MAX; graph.len()], vec![0u32; graph.len()]);
    let mut level = Vec::new();
    for &start in components.iter().flatten() {
        // A cycle is found from its lowest vertex, so the search need not visit lower ones; nor go
        // deeper than helps.
        let mut depth_left = best.as_ref().map_or(usize::MAX, |b| b.len() - 1);
        level.clear();
        level.push(start);
        seen[start as usize] = start;
        'search: while !level.is_empty() && depth_left > 0 {
            depth_left -= 1;
            for v in std::mem::take(&mut level) {
                for &w in graph.successors(v) {
                    if w == start {
                        let mut cycle = vec![v];
                        while cycle[cycle.len() - 1] != start {
                            cycle.push(parent[cycle[cycle.len() - 1] as usize]);
                        }
                        cycle.reverse();
                        best = Some(cycle);
                        break 'search;
                    }
                    if w > start
                        && seen[w as usize] != start
                        && component_of[w as usize] == component_of[start as usize]
                    {
                        seen[w as usize] = start;
                        parent[w as usize] = v;
                        level.push(w);
                    }
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(n: usize, edges: &[(u32, u32)]) -> Graph {
        let mut g = Graph { first: vec![0], next: Vec::new() };
        for v in 0..n as u32 {
            g.next.extend(edges.iter().filter(|e| e.0 == v).map(|e| e.1));
            g.first.push(g.next.len() as u32);
        }
        g
    }

    #[test]
    fn a_tail_in_front_of_or_behind_a_cycle_is_no_part_of_it() {
        let g = graph(6, &[(0, 1), (1, 2), (2, 3), (3, 1), (3, 4), (4, 5)]);
        assert!(has_cycle(&g));
        let c = components(&g);
        assert_eq!(c, [[1, 2, 3]]);
        assert_eq!(shortest(&g, &c), Some(vec![1, 2, 3]));
        let g = graph(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert!(!has_cycle(&g) && components(&g).is_empty() && shortest(&g, &[]).is_none());
    }

    #[test]
    fn the_shortest_of_several_cycles_and_the_first_of_equal_ones() {
        // 0-1-2-3 and, sharing 2 and 3, 2-3-4; apart from them 5-6-7.
        let g = graph(8, &[(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 2), (5, 6), (6, 7), (7, 5)]);
        let c = components(&g);
        assert_eq!(c, [vec![0, 1, 2, 3, 4], vec![5, 6, 7]]);
        assert_eq!(shortest(&g, &c), Some(vec![2, 3, 4]));
    }

    #[test]
    fn a_long_cycle_needs_no_deep_stack() {
        let n = 200_000;
        let g = Graph { first: (0..=n).collect(), next: (1..=n).map(|v| v % n).collect() };
        let c = components(&g);
        assert_eq!((c.len(), c[0].len()), (1, n as usize));
    }
}
