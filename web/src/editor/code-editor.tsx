import { diff } from '@codemirror/merge'
import { Annotation, Compartment, EditorState, Transaction } from '@codemirror/state'
import { EditorView, keymap, placeholder } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import type { Draft } from '../../../src/client/index.ts'
import { markdownSetup, writable } from './markdown-setup.ts'

export interface CodeEditorProps {
  readonly draft: Draft<string> | null
  readonly isWritable: boolean
  readonly label: string
  /** Shown in an empty document. */
  readonly hint: string
}

/** Two long texts that differ much are compared roughly. */
const DIFF_LIMITS = { scanLimit: 500, timeout: 100 }

/** Marks what the draft has put into the editor. Everything else was typed. */
const fromDraft = Annotation.define<boolean>()

/** The text of a draft in CodeMirror. What another tab has saved is merged in, so the undo history stays valid. */
export function CodeEditor({ draft, isWritable, label, hint }: CodeEditorProps) {
  const parent = useRef<HTMLDivElement>(null)
  const shown = useRef<ShownEditor | null>(null)
  useEffect(() => {
    if (!draft || !parent.current) return
    const opened = showDraft(draft, parent.current)
    shown.current = opened
    return () => {
      shown.current = null
      opened.close()
    }
  }, [draft])
  useEffect(() => {
    if (draft) shown.current?.configure({ isWritable, label, hint })
  }, [draft, isWritable, label, hint])
  return <div className="code" ref={parent} />
}

interface ShownEditor {
  configure(options: Omit<CodeEditorProps, 'draft'>): void
  close(): void
}

function showDraft(draft: Draft<string>, parent: HTMLElement): ShownEditor {
  const access = new Compartment()
  const labels = new Compartment()
  let isWritable = false
  /** The version of the draft that the editor shows. A long text is not compared for every key. */
  let shown = draft.state.version
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: draft.state.content,
      extensions: [
        markdownSetup(),
        access.of(writable(false)),
        labels.of([]),
        keymap.of([{ key: 'Mod-s', run: saveNow, preventDefault: true }]),
        EditorView.updateListener.of(({ docChanged, state, transactions }) => {
          const isTyped = transactions.some((tr) => tr.docChanged && !tr.annotation(fromDraft))
          if (!docChanged || !isTyped) return
          shown = Infinity
          draft.edit(() => state.doc.toString())
          shown = draft.state.version
        }),
        // A lock that is lost in the middle of a composition: the characters are kept, and then writing ends.
        EditorView.domEventHandlers({ compositionend: () => queueMicrotask(applyAccess) }),
      ],
    }),
  })
  const unsubscribe = draft.subscribe(showText)

  function saveNow(): boolean {
    draft.flush().catch(() => {})
    return true
  }

  function showText(): void {
    const { version } = draft.state
    if (shown >= version) return
    shown = version
    const text = draft.state.content
    const current = view.state.doc.toString()
    if (text === current) return
    const changes = diff(current, text, DIFF_LIMITS).map(({ fromA, toA, fromB, toB }) => ({
      from: fromA,
      to: toA,
      insert: text.slice(fromB, toB),
    }))
    view.dispatch({ changes, annotations: [fromDraft.of(true), Transaction.addToHistory.of(false)] })
  }

  function applyAccess(): void {
    if (view.compositionStarted || view.state.readOnly === !isWritable) return
    view.dispatch({ effects: access.reconfigure(writable(isWritable)) })
  }

  return {
    configure(options) {
      isWritable = options.isWritable
      const attributes = EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'true' })
      view.dispatch({ effects: labels.reconfigure([attributes, placeholder(options.hint)]) })
      applyAccess()
    },
    close() {
      unsubscribe()
      view.destroy()
    },
  }
}
