//! The page's template.

use super::{Block, Card, Report, Section};
use crate::{Align, Cell, Table};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Number of columns from which a table may be wider than the text.
const MANY: usize = 7;
/// A table of contents helps from this many sections on.
const CONTENTS_FROM: usize = 4;

pub(super) fn draw(report: &Report) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="xoff";
                title { (report.title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header {
                    h1 { (report.title) }
                    @for text in &report.lead { p.lead { (inline(text)) } }
                }
                main {
                    @if !report.cards.is_empty() {
                        div.cards { @for card in &report.cards { (draw_card(card)) } }
                    }
                    @if report.sections.len() >= CONTENTS_FROM {
                        nav aria-label="Contents" {
                            @for (i, section) in report.sections.iter().enumerate() { a href={ "#s" (i + 1) } { (section.title) } }
                        }
                    }
                    @for (i, section) in report.sections.iter().enumerate() { (draw_section(i + 1, section)) }
                    @for (summary, table) in &report.details { (draw_details(summary, table)) }
                }
                @if !report.provenance.is_empty() {
                    footer { dl { @for (name, value) in &report.provenance { div { dt { (name) } dd { code { (value) } } } } } }
                }
            }
        }
    }
}

fn draw_card(card: &Card) -> Markup {
    html! {
        div class={ "card " (card.tone.class()) } {
            div.label { (card.label) }
            div.value { (card.value) }
            @if !card.note.is_empty() { div.note { (card.note) } }
        }
    }
}

fn draw_section(number: usize, section: &Section) -> Markup {
    html! {
        section id={ "s" (number) } {
            h2 { (section.title) @if let Some((tone, text)) = &section.badge { " " span class={ "badge " (tone.class()) } { (text) } } }
            @for block in &section.blocks {
                @match block {
                    Block::Text(text) => p { (inline(text)) },
                    Block::Table(table) => (draw_table(table)),
                    Block::Figure { svg, narrow, caption } => figure {
                        // Our own drawings, escaped where they were made.
                        div.drawing { (PreEscaped(svg)) }
                        div.narrow { (PreEscaped(narrow)) }
                        @if !caption.is_empty() { figcaption { (inline(caption)) } }
                    },
                }
            }
        }
    }
}

fn draw_details(summary: &str, table: &Table) -> Markup {
    html! { details { summary { (summary) " " span.count { "(" (table.rows.len()) ")" } } (draw_table(table)) } }
}

fn draw_table(table: &Table) -> Markup {
    html! {
        div.scroll.many[table.columns.len() >= MANY] {
            table.prose[is_prose(table)] {
                @if let Some(caption) = &table.caption { caption { (inline(caption)) } }
                thead { tr { @for column in &table.columns { th scope="col" class=[class(column.align)] { (column.name) } } } }
                tbody {
                    @for row in &table.rows {
                        tr { @for (i, column) in table.columns.iter().enumerate() {
                            td class=[class(column.align)] data-label=(column.name) { @if let Some(cell) = row.get(i) { (draw_cell(cell)) } }
                        } }
                    }
                }
            }
        }
    }
}

/// Has it sentences in its cells? On a phone each of its rows then becomes a block, for sentences
/// in columns would be a word wide there.
fn is_prose(table: &Table) -> bool {
    const SENTENCE: usize = 36;
    if table.columns.len() < 3 {
        return false;
    }
    table
        .rows
        .iter()
        .flatten()
        .any(|cell| matches!(cell, Cell::Text(text) if text.chars().count() > SENTENCE))
}

fn class(align: Align) -> Option<&'static str> {
    match align {
        Align::Left => None,
        Align::Right => Some("right"),
    }
}

fn draw_cell(cell: &Cell) -> Markup {
    html! {
        @match cell {
            Cell::Text(text) => (inline(text)),
            Cell::Code(text) => code { (text) },
        }
    }
}

/// Text with code between backticks. A backtick without partner is a backtick.
fn inline(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return words(text);
    }
    html! {
        @for (i, part) in parts.iter().enumerate() {
            @if i % 2 == 1 { code { (part) } } @else { (words(part)) }
        }
    }
}

/// Text whose names of ports and files stay on one line: a browser would break `S1->S2` after its
/// hyphen.
fn words(text: &str) -> Markup {
    const LONG: usize = 40;
    let is_name = |word: &str| (word.contains("->") || word.contains('_')) && word.len() < LONG;
    html! {
        @for (i, word) in text.split(' ').enumerate() {
            @if i > 0 { " " }
            @if is_name(word) { span.name { (word) } } @else { (word) }
        }
    }
}
