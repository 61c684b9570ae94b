/** A notification must be shorter than 8000 bytes. */
const PART_LENGTH = 7900

/**
 * A text as notifications, each with the name of its sender, the number of the text and how many more follow: of
 * two that are equal, Postgres would deliver one. The text is JSON; in ASCII its length is its size, and every
 * encoding of a database has it.
 */
export function partsOf(sender: string, number: number, json: string): string[] {
  const ascii = json.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const parts = ascii.match(new RegExp(`.{1,${PART_LENGTH}}`, 'gs')) ?? []
  return parts.map((part, index) => `${sender} ${number} ${parts.length - 1 - index} ${part}`)
}

/** Puts the parts together again, which come in order and without others of their sender in between. */
export class Parts {
  readonly #begun = new Map<string, { readonly number: string; text: string }>()

  /** The text, when this was its last part. */
  add(notification: string): string | null {
    const [, sender = '', number = '', following, part = ''] =
      /^(\S+) (\d+) (\d+) (.*)$/s.exec(notification) ?? []
    if (following === undefined) return null
    const begun = this.#begun.get(sender)
    const text = (begun?.number === number ? begun.text : '') + part
    if (following !== '0') this.#begun.set(sender, { number, text })
    else this.#begun.delete(sender)
    return following === '0' ? text : null
  }
}
