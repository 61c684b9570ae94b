import type { ReactNode } from 'react'
import { differences } from '../client/draft/differences.ts'
import { type DraftTexts, draftTexts } from './draft-texts.ts'
import { CONTEXT_LINES } from './options.ts'
import { type Language, useLanguage } from './provider.tsx'

export interface TextComparisonProps {
  /** What is stored. */
  readonly theirs: string
  /** What this person has written. */
  readonly mine: string
  /** Called with the new text when a part of theirs is taken. Without it, the texts are only shown. */
  readonly onEdit?: ((mine: string) => void) | undefined
  /** Default: that of the `<HoldfastProvider>`, or `en`. */
  readonly lang?: Language | undefined
  /** Replaces some of the texts. */
  readonly texts?: Partial<DraftTexts> | undefined
}

/**
 * Two texts, line by line. Each difference of the stored text can be taken.
 *
 * @example
 * <TextComparison theirs={theirs} mine={content} onEdit={(text) => draft.edit(text)} />
 */
export function TextComparison(props: TextComparisonProps): ReactNode {
  const { theirs, mine, onEdit, texts } = props
  // Of the words around the texts. The texts themselves may be in any language.
  const lang = useLanguage(props.lang)
  const words = { ...draftTexts[lang], ...texts }
  const [stored, own] = [theirs.split('\n'), mine.split('\n')]
  const take = (part: ComparedPart) =>
    onEdit?.([...own.slice(0, part.fromMine), ...part.theirs, ...own.slice(part.toMine)].join('\n'))
  return (
    <div className="hf-compared">
      <span className="hf-head" data-side="theirs" lang={lang}>
        {words.theirs}
      </span>
      <span className="hf-head" data-side="mine" lang={lang}>
        {words.mine}
      </span>
      {partsOf(stored, own).map((part) => (
        <div className="hf-part" key={part.fromMine}>
          <Side name={words.theirs} side="theirs" part={part} lines={part.theirs} />
          <Side name={words.mine} side="mine" part={part} lines={part.mine} />
          {onEdit && (
            <button type="button" lang={lang} onClick={() => take(part)}>
              {words.takeChange}
            </button>
          )}
        </div>
      ))}
    </div>
  )
}

interface SideProps {
  readonly name: string
  readonly side: 'theirs' | 'mine'
  readonly part: ComparedPart
  readonly lines: readonly string[]
}

function Side({ name, side, part, lines }: SideProps) {
  return (
    <figure className="hf-side" data-side={side} aria-label={name}>
      <pre>{textOf(part.before)}</pre>
      <pre className="hf-changed">{textOf(lines)}</pre>
      <pre>{textOf(part.after)}</pre>
    </figure>
  )
}

/** Each line with its end, so that an empty line is seen too. */
const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

interface ComparedPart {
  readonly theirs: readonly string[]
  readonly mine: readonly string[]
  readonly fromMine: number
  readonly toMine: number
  /** Equal lines around the difference. */
  readonly before: readonly string[]
  readonly after: readonly string[]
}

function partsOf(stored: readonly string[], own: readonly string[]): readonly ComparedPart[] {
  return differences(stored, own).map(({ fromA, toA, fromB, toB }) => ({
    theirs: stored.slice(fromA, toA),
    mine: own.slice(fromB, toB),
    fromMine: fromB,
    toMine: toB,
    before: own.slice(Math.max(0, fromB - CONTEXT_LINES), fromB),
    after: own.slice(toB, toB + CONTEXT_LINES),
  }))
}
