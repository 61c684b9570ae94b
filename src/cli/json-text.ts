/**
 * Characters that a terminal does not show, or that change the order of what it shows. JSON allows them as escapes, so
 * a program that reads them gets the same text.
 */
const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}\x7f-\x9f]/gu

/** A value as `--json` prints it. `indent`: 0 for one line. */
export function jsonText(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replace(INVISIBLE, (character) =>
    Array.from(character.split(''), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  )
}
