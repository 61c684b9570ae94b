import type { KeptTextProps } from './kept-text.tsx'

/** The stored content cannot be shown. Nothing overwrites it automatically. */
export function UnreadableText({ draft, state: { text, stored }, isHeld, words }: KeptTextProps) {
  return (
    <section className="card kept">
      <p role="alert">{words.unreadable}</p>
      {isHeld && (
        <div className="bar">
          <button
            type="button"
            className="primary"
            disabled={text === ''}
            onClick={() => void draft.saveMine()}
          >
            {words.saveMine}
          </button>
          <button type="button" disabled={text === stored} onClick={() => draft.takeTheirs()}>
            {words.drop}
          </button>
        </div>
      )}
    </section>
  )
}
