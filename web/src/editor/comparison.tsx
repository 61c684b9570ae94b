import './comparison.css'
import { getOriginalDoc, MergeView, originalDocChangeEffect, unifiedMergeView } from '@codemirror/merge'
import { ChangeSet, type Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { useMedia } from '../ui/use-media.ts'
import { markdownSetup, phrases, writable } from './markdown-setup.ts'
import type { EditorTexts } from './texts.ts'

export interface ComparisonProps {
  readonly theirs: string
  readonly mine: string
  readonly words: EditorTexts
  readonly onEdit: (mine: () => string) => void
}

const COLLAPSE = { margin: 3, minSize: 6 }

/** The stored text beside this one, which can be edited. Each difference can be taken from the stored text. */
export function Comparison({ theirs, mine, words, onEdit }: ComparisonProps) {
  const parent = useRef<HTMLDivElement>(null)
  const shown = useRef<Compared | null>(null)
  const isWide = useMedia('(min-width: 800px)')
  const latest = useRef({ theirs, mine, onEdit })
  useEffect(() => {
    latest.current = { theirs, mine, onEdit }
    shown.current?.setTheirs(theirs)
  }, [theirs, mine, onEdit])
  useEffect(() => {
    if (!parent.current) return
    const compare = isWide ? compareBeside : compareInOne
    const opened = compare(parent.current, latest.current, words, (text) => latest.current.onEdit(text))
    shown.current = opened
    return () => {
      shown.current = null
      opened.close()
    }
  }, [words, isWide])
  return (
    <>
      <div className="comparison-heads" aria-hidden="true">
        <span>{words.theirs}</span>
        <span>{words.mine}</span>
      </div>
      <div className="comparison" ref={parent} />
    </>
  )
}

interface Texts {
  readonly theirs: string
  readonly mine: string
}

interface Compared {
  setTheirs(text: string): void
  close(): void
}

type Compare = (
  parent: HTMLElement,
  texts: Texts,
  words: EditorTexts,
  onEdit: (mine: () => string) => void,
) => Compared

const compareBeside: Compare = (parent, { theirs, mine }, words, onEdit) => {
  const merge = new MergeView({
    parent,
    a: {
      doc: theirs,
      extensions: [markdownSetup(), writable(false), labelled(words.theirs), phrases(words)],
    },
    b: { doc: mine, extensions: [editable(words, onEdit)] },
    revertControls: 'a-to-b',
    renderRevertControl: () => button('→', words.takeChange),
    highlightChanges: true,
    gutter: true,
    collapseUnchanged: COLLAPSE,
  })
  return {
    setTheirs(text) {
      const { length } = merge.a.state.doc
      if (merge.a.state.doc.toString() !== text)
        merge.a.dispatch({ changes: { from: 0, to: length, insert: text } })
    },
    close: () => merge.destroy(),
  }
}

/** For narrow screens: one text, with what the other has above each difference. */
const compareInOne: Compare = (parent, { theirs, mine }, words, onEdit) => {
  const view = new EditorView({
    parent,
    doc: mine,
    extensions: [
      editable(words, onEdit),
      unifiedMergeView({
        original: theirs,
        collapseUnchanged: COLLAPSE,
        mergeControls(type, act) {
          const control = button(type === 'accept' ? words.keepMine : words.takeChange)
          control.onmousedown = act
          return control
        },
      }),
    ],
  })
  return {
    setTheirs(text) {
      const original = getOriginalDoc(view.state)
      if (original.toString() === text) return
      const changes = ChangeSet.of({ from: 0, to: original.length, insert: text }, original.length)
      view.dispatch({ effects: originalDocChangeEffect(view.state, changes) })
    },
    close: () => view.destroy(),
  }
}

function editable(words: EditorTexts, onEdit: (mine: () => string) => void): Extension {
  return [
    markdownSetup(),
    labelled(words.mine),
    phrases(words),
    EditorView.updateListener.of(({ docChanged, state }) => docChanged && onEdit(() => state.doc.toString())),
  ]
}

function labelled(label: string): Extension {
  return EditorView.contentAttributes.of({ 'aria-label': label })
}

/** CodeMirror listens to the mouse only. A click that no mouse made came from the keyboard. */
function button(text: string, label = text): HTMLButtonElement {
  const created = document.createElement('button')
  created.type = 'button'
  created.title = label
  created.ariaLabel = label
  created.textContent = text
  created.onclick = ({ detail }) => {
    if (detail === 0) created.dispatchEvent(new MouseEvent('mousedown', { bubbles: true, cancelable: true }))
  }
  return created
}
