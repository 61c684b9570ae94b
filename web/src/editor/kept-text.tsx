import { useState } from 'react'
import type { Draft, DraftState } from './draft.ts'
import type { EditorTexts } from './texts.ts'

export interface KeptTextProps {
  readonly draft: Draft
  readonly state: DraftState
  readonly isHeld: boolean
  readonly words: EditorTexts
}

/** A save was refused, or the lock was lost before it. The text is kept, and can be copied or saved. */
export function KeptText({ draft, state, isHeld, words }: KeptTextProps) {
  const { text: mine, stored, status, reason } = state
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(mine)
    setCopied(true)
  }
  return (
    <section className="card kept">
      <p role="alert" title={status === 'refused' ? reason : undefined}>
        {words[status === 'kept' ? 'kept' : 'refused']}
      </p>
      <div className="bar">
        <button type="button" className="primary" onClick={() => void copy()}>
          {copied ? words.copied : words.copy}
        </button>
        {isHeld && (
          <button type="button" onClick={() => void draft.saveMine()}>
            {words.saveMine}
          </button>
        )}
        <button type="button" onClick={() => draft.discard()}>
          {words.discard}
        </button>
      </div>
      <details>
        <summary>{words.compare}</summary>
        <div className="compare">
          <label>
            {words.mine}
            <textarea readOnly value={mine} />
          </label>
          <label>
            {words.theirs}
            <textarea readOnly value={stored} />
          </label>
        </div>
      </details>
    </section>
  )
}
