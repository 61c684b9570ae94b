import { useEffect, useRef } from 'react'
import type { Edit, Scene } from './story.ts'
import type { Texts } from './texts.ts'

export interface SceneCardProps {
  readonly scene: Scene
  readonly number: number
  readonly isLast: boolean
  /** The user has just added it. */
  readonly isNew: boolean
  readonly isReadOnly: boolean
  readonly words: Texts
  readonly onEdit: (edit: Edit) => void
}

export function SceneCard({ scene, number, isLast, isNew, isReadOnly, words, onEdit }: SceneCardProps) {
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isNew) first.current?.focus()
  }, [isNew])

  const { id, place, text } = scene
  const name = words.scene(number)
  return (
    <li className="scene" aria-label={name}>
      <div className="frame" aria-hidden="true">
        {number}
      </div>
      <div className="fields">
        <input
          ref={first}
          value={place}
          readOnly={isReadOnly}
          placeholder={words.place}
          aria-label={`${name}: ${words.place}`}
          onChange={(event) => onEdit({ type: 'change', id, change: { place: event.target.value } })}
        />
        <textarea
          value={text}
          rows={3}
          readOnly={isReadOnly}
          placeholder={words.text}
          aria-label={`${name}: ${words.text}`}
          onChange={(event) => onEdit({ type: 'change', id, change: { text: event.target.value } })}
        />
        <div className="actions">
          <button
            type="button"
            disabled={isReadOnly || number === 1}
            onClick={() => onEdit({ type: 'move', id, by: -1 })}
          >
            {words.up}
          </button>
          <button
            type="button"
            disabled={isReadOnly || isLast}
            onClick={() => onEdit({ type: 'move', id, by: 1 })}
          >
            {words.down}
          </button>
          <button type="button" disabled={isReadOnly} onClick={() => onEdit({ type: 'remove', id })}>
            {words.remove}
          </button>
        </div>
      </div>
    </li>
  )
}
