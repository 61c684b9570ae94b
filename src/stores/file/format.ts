/** The content of a generation, as JSON. Decoding returns nothing that was not checked. */
import { isObject } from '../../base/arguments.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { type LeaseRow, newRow } from '../lease-row.ts'

const FORMAT = 1

export interface Saved {
  readonly row: LeaseRow
  /** The lease that this generation ended. */
  readonly ended: LeaseRecord | null
  /** The last generation: nothing follows, and the resource starts again in another directory. */
  readonly forgotten: boolean
}

/** `change` is unique, so that no two generations are equal. */
export function encode({ row, ended, forgotten }: Saved, change: string): string {
  const { resource, token, lease, endedAt } = row
  return JSON.stringify({ format: FORMAT, change, resource, token, lease, endedAt, ended, forgotten })
}

/** `null`: the text is truncated, foreign, or of another version. */
export function decode(text: string): Saved | null {
  const saved = parse(text)
  if (!isSaved(saved)) return null
  const { resource, token, lease, endedAt, ended, forgotten } = saved
  return { row: { ...newRow(resource, token), lease, endedAt }, ended, forgotten }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

interface SavedFields extends Pick<LeaseRow, 'resource' | 'token' | 'lease' | 'endedAt'> {
  readonly ended: LeaseRecord | null
  readonly forgotten: boolean
}

function isSaved(value: unknown): value is SavedFields {
  if (!isObject(value)) return false
  const { format, resource, token, lease, endedAt, ended, forgotten } = value
  return (
    format === FORMAT &&
    isText(resource) &&
    isToken(token) &&
    (lease === null || isLease(lease)) &&
    isTime(endedAt) &&
    (ended === null || isEnded(ended)) &&
    typeof forgotten === 'boolean'
  )
}

function isLease(value: unknown): boolean {
  if (!describesLease(value)) return false
  const { span, process } = value
  return isTime(span) && (process === undefined || process === null || isText(process))
}

function isEnded(value: unknown): boolean {
  if (!describesLease(value)) return false
  const { resource, token, remaining, state } = value
  return (
    isText(resource) &&
    isToken(token) &&
    isTime(remaining) &&
    ['released', 'expired', 'taken-over'].includes(String(state))
  )
}

function describesLease(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false
  const { id, owner, metadata, acquiredAt, expiresAt } = value
  return (
    isText(id) &&
    isText(owner) &&
    (metadata === null || isObject(metadata)) &&
    isTime(acquiredAt) &&
    isTime(expiresAt)
  )
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isTime(value: unknown): boolean {
  return Number.isFinite(value)
}

function isToken(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
