import { NOTIFICATION_LENGTH } from '../options.ts'

/**
 * A text as notifications. Each starts with the id of its sender, the number of the text, and how many parts follow,
 * because Postgres delivers only one of two equal notifications. The text is JSON. It is converted to ASCII, so that
 * its length is its size and the database may have any encoding.
 */
export function partsOf(sender: string, number: number, json: string): string[] {
  const ascii = json.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const parts = ascii.match(new RegExp(`.{1,${NOTIFICATION_LENGTH}}`, 'gs')) ?? []
  return parts.map((part, index) => `${sender} ${number} ${parts.length - 1 - index} ${part}`)
}

/** Joins the parts. The parts of one sender arrive in order, and those of different texts never mix. */
export class Parts {
  readonly #incomplete = new Map<string, { readonly number: string; text: string }>()

  /** The text, if this was its last part. */
  add(notification: string): string | null {
    const [, sender = '', number = '', following, part = ''] =
      /^(\S+) (\d+) (\d+) (.*)$/s.exec(notification) ?? []
    if (following === undefined) return null
    const incomplete = this.#incomplete.get(sender)
    const text = (incomplete?.number === number ? incomplete.text : '') + part
    if (following !== '0') this.#incomplete.set(sender, { number, text })
    else this.#incomplete.delete(sender)
    return following === '0' ? text : null
  }
}
