import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { markdown, markdownLanguage } from '@codemirror/lang-markdown'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { Compartment, EditorState, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, keymap } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { EditorTexts } from './texts.ts'

const highlight = HighlightStyle.define([
  { tag: tags.heading1, color: 'var(--text)', fontWeight: '600', fontSize: '20px' },
  { tag: tags.heading2, color: 'var(--text)', fontWeight: '600', fontSize: '16px' },
  { tag: tags.heading, color: 'var(--text)', fontWeight: '600' },
  { tag: tags.strong, fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strikethrough, textDecoration: 'line-through' },
  { tag: [tags.link, tags.url], color: 'var(--accent)' },
  { tag: tags.monospace, fontFamily: 'var(--mono)', fontSize: '13px' },
  { tag: [tags.quote, tags.processingInstruction, tags.contentSeparator], color: 'var(--quiet)' },
])

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'transparent' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--sans)', lineHeight: '26px', overflow: 'auto' },
  '.cm-content': { padding: '12px 16px', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-placeholder': { color: 'var(--quiet)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--selection)',
  },
})

/** A longer text is shown plain: a paragraph is parsed again with every key, and a pasted file may be one paragraph. */
const LONGEST_PARSED = 50_000

/** Markdown in a text that is not too long. */
function markdownOfShortTexts(): Extension {
  const language = new Compartment()
  const parsed = [markdown({ base: markdownLanguage, addKeymap: true }), syntaxHighlighting(highlight)]
  return [
    language.of(parsed),
    EditorState.transactionExtender.of(({ startState, newDoc }) => {
      const isShown = language.get(startState) === parsed
      const isFitting = newDoc.length <= LONGEST_PARSED
      return isShown === isFitting ? null : { effects: language.reconfigure(isFitting ? parsed : []) }
    }),
  ]
}

/** What every editor on the page shares: Markdown, undo, wrapped lines and the looks. Tab moves the focus. */
export function markdownSetup(): Extension {
  return [
    history(),
    drawSelection(),
    EditorView.lineWrapping,
    markdownOfShortTexts(),
    theme,
    keymap.of([...defaultKeymap, ...historyKeymap]),
  ]
}

/** Somebody who may not write can still focus, scroll and select. */
export function writable(isWritable: boolean): Extension {
  return [
    EditorState.readOnly.of(!isWritable),
    EditorView.editable.of(isWritable),
    EditorView.contentAttributes.of({ tabindex: '0', ...(!isWritable && { 'aria-readonly': 'true' }) }),
  ]
}

/** The words of CodeMirror itself. */
export function phrases(words: EditorTexts): Extension {
  return EditorState.phrases.of(words.phrases)
}
