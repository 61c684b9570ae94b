import { useEffect, useRef, useState } from 'react'
import type { AutoSave, Recoverable } from '../../../src/autosave/index.ts'
import type { Story } from './story.ts'
import { type Language, texts } from './texts.ts'

export interface HistoryDialogProps {
  readonly autosave: AutoSave<Story>
  readonly language: Language
  readonly isReadOnly: boolean
  readonly onRestore: (story: Story) => void
  readonly onClose: () => void
}

/** The recoverable versions, newest first. Restoring one creates a new save, so nothing is lost. */
export function HistoryDialog({ autosave, language, isReadOnly, onRestore, onClose }: HistoryDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [saves, setSaves] = useState<readonly Recoverable<Story>[] | 'loading' | 'unreadable'>('loading')
  const words = texts[language]

  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    autosave.restore().then(setSaves, () => setSaves('unreadable'))
  }, [autosave])

  const restore = async (save: Recoverable<Story>) => {
    try {
      onRestore(await save.load())
      dialog.current?.close()
    } catch {
      setSaves('unreadable')
    }
  }
  const list = typeof saves === 'string' ? [] : saves.toSorted((a, b) => b.savedAt - a.savedAt)
  return (
    <dialog ref={dialog} onClose={onClose} aria-label={words.history}>
      <div className="dialog-head">
        <h2>{words.history}</h2>
        <button type="button" onClick={() => dialog.current?.close()}>
          {words.close}
        </button>
      </div>
      {list.length === 0 && (
        <p className="empty">{typeof saves === 'string' ? words[saves] : words.noHistory}</p>
      )}
      <ul className="saves">
        {list.map((save) => (
          <li key={`${save.source} ${save.id}`}>
            <time dateTime={save.id}>{momentOf(save.savedAt, language)}</time>
            <span className="source">{save.source === 'history' ? '' : words[save.source]}</span>
            <span className="size">{words.kilobytes((save.bytes / 1000).toFixed(1))}</span>
            <button
              type="button"
              disabled={isReadOnly || save.source === 'current'}
              onClick={() => void restore(save)}
            >
              {words.restore}
            </button>
          </li>
        ))}
      </ul>
    </dialog>
  )
}

function momentOf(at: number, language: Language): string {
  return new Date(at).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'medium' })
}
