import { useState } from 'react'
import { Comparison } from './comparison.tsx'
import type { Draft, DraftState } from './draft.ts'
import type { EditorTexts } from './texts.ts'

export interface KeptTextProps {
  readonly draft: Draft
  readonly state: DraftState
  readonly isHeld: boolean
  readonly words: EditorTexts
}

/**
 * A save was refused, or the lock was lost before it. The text is kept: it can be copied, compared with the stored
 * one, merged by hand, saved or dropped.
 */
export function KeptText({ draft, state, isHeld, words }: KeptTextProps) {
  const { text: mine, stored, status, isOutdated, reason } = state
  const [copied, setCopied] = useState(false)
  const [isComparing, setComparing] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(mine)
    setCopied(true)
  }
  const isRefused = status === 'refused'
  const message = isRefused ? words.refused : isOutdated ? words.outdated(isHeld) : words.kept(isHeld)
  const isCompared = isOutdated && isComparing
  return (
    <section className="card kept" data-outdated={isOutdated}>
      <p role="alert" title={isRefused ? reason : undefined}>
        {message}
      </p>
      <div className="bar">
        {isOutdated && (
          <button
            type="button"
            className="primary"
            aria-expanded={isComparing}
            onClick={() => setComparing(!isComparing)}
          >
            {isComparing ? words.closeCompare : words.compare}
          </button>
        )}
        {isOutdated && isHeld && (
          <button type="button" onClick={() => void draft.saveMine()}>
            {words.saveMine}
          </button>
        )}
        <button type="button" onClick={() => draft.takeTheirs()}>
          {isOutdated ? words.takeTheirs : words.drop}
        </button>
        {navigator.clipboard && (
          <button type="button" onClick={() => void copy()}>
            {copied ? words.copied : words.copy}
          </button>
        )}
      </div>
      {isCompared && (
        <Comparison theirs={stored} mine={mine} words={words} onEdit={(text) => draft.edit(text)} />
      )}
    </section>
  )
}

/** The user took the stored text. That can be undone until something is typed. */
export function DroppedText({ draft, words }: Pick<KeptTextProps, 'draft' | 'words'>) {
  return (
    <section className="card dropped bar">
      <p role="status">{words.tookTheirs}</p>
      <button type="button" onClick={() => draft.bringBack()}>
        {words.bringBack}
      </button>
    </section>
  )
}
