import { useEffect, useRef, useState } from 'react'
import type { AutoSave, Recoverable, Recovery } from '../../../src/autosave/index.ts'
import { changesBetween } from './changes.ts'
import type { Story } from './story.ts'
import { type Language, texts } from './texts.ts'

export interface HistoryDialogProps {
  readonly autosave: AutoSave<Story>
  readonly language: Language
  readonly isReadOnly: boolean
  readonly onRestore: (story: Story) => void
  readonly onClose: () => void
}

/** The recoverable versions, newest first, each with what changed. Restoring one creates a new save, so nothing is lost. */
export function HistoryDialog({ autosave, language, isReadOnly, onRestore, onClose }: HistoryDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [saves, setSaves] = useState<Recovery<Story> | 'loading' | 'unreadable'>('loading')
  /** By version. A version that cannot be read is missing. */
  const [stories, setStories] = useState<ReadonlyMap<Recoverable<Story>, Story>>(new Map())
  const words = texts[language]

  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    const show = async () => {
      const found = await autosave.restore()
      setSaves(found)
      const read = found.map(async (save) => [save, await save.read()] as const)
      const settled = await Promise.allSettled(read)
      setStories(new Map(settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))))
    }
    show().catch(() => setSaves('unreadable'))
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
  const changesOf = (index: number): string => {
    const [story, before] = [list[index], list[index + 1]].map((save) => save && stories.get(save))
    return story ? changesBetween(before, story, words) : ''
  }
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
        {typeof saves !== 'string' &&
          saves.skipped.map(({ id, savedAt }) => (
            <li key={`skipped ${id}`}>
              <time dateTime={id}>{momentOf(savedAt, language)}</time>
              <span className="changes">{words.damaged}</span>
            </li>
          ))}
        {list.map((save, index) => (
          <li key={`${save.source} ${save.id}`}>
            <time dateTime={save.id}>{momentOf(save.savedAt, language)}</time>
            <span className="source">{save.source === 'history' ? '' : words[save.source]}</span>
            <span className="size">{words.size(save.bytes)}</span>
            <button
              type="button"
              disabled={isReadOnly || save.source === 'current'}
              onClick={() => void restore(save)}
            >
              {words.restore}
            </button>
            <span className="changes">{changesOf(index)}</span>
          </li>
        ))}
      </ul>
    </dialog>
  )
}

function momentOf(at: number, language: Language): string {
  return new Date(at).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'medium' })
}
