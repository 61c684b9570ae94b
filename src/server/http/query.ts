import { HttpError } from './http-error.ts'

export interface QueryParameter<T> {
  /** JSON Schema, for the OpenAPI document. */
  readonly schema: object
  readonly description: string
  readonly isRequired?: true
  /** It may be given several times. */
  readonly isRepeated?: true
  parse(name: string, text: string): T
}

export function integer(from: number, to: number, description: string): QueryParameter<number> {
  return {
    schema: { type: 'integer', minimum: from, maximum: to },
    description,
    parse(name, text) {
      const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
      if (value >= from && value <= to) return value
      throw new HttpError(400, 'invalid_query', `${name}: expected a whole number from ${from} to ${to}`)
    },
  }
}

/** A larger value counts as `max`. */
export function seconds(max: number, description: string): QueryParameter<number> {
  return {
    schema: { type: 'number', minimum: 0 },
    description: `${description} More than ${max} counts as ${max}.`,
    parse(name, text) {
      if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Math.min(Number(text), max)
      const expected = `a number of seconds such as 30, of which this server allows ${max}`
      throw new HttpError(400, 'invalid_query', `${name}: expected ${expected}`)
    },
  }
}

export function text(maxLength: number, description: string): QueryParameter<string> {
  return {
    schema: { type: 'string', maxLength, pattern: '^[^\\0]*$' },
    description,
    parse(name, value) {
      if (value.length <= maxLength && !value.includes('\0')) return value
      throw new HttpError(
        400,
        'invalid_query',
        `${name}: expected at most ${maxLength} characters without NUL`,
      )
    },
  }
}

export function oneOf<T extends string>(values: readonly T[], description: string): QueryParameter<T> {
  return {
    schema: { type: 'string', enum: values },
    description,
    parse(name, text) {
      const value = values.find((value) => value === text)
      if (value !== undefined) return value
      throw new HttpError(400, 'invalid_query', `${name}: expected ${values.join(' or ')}`)
    },
  }
}
