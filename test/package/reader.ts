/**
 * What the examples of the docs take from the reader's own program. A name that a package exports does not belong
 * here: the example imports it. Only `snippets.ts` compiles this file.
 */
import type { Firestore } from '@google-cloud/firestore'
import type { Lease, LeaseStore, Leases, LeasesOptions } from 'holdfast'
import type { Once } from 'holdfast/once'
import type { Sync } from 'holdfast/sync'
import type { Redis } from 'ioredis'
import type { Pool, PoolClient } from 'pg'
import type { Sql } from 'postgres'

declare global {
  interface Item {
    label: string
    checked: boolean
  }

  const lease: Lease
  const leases: Leases
  const options: LeasesOptions
  const store: LeaseStore
  const once: Once
  const sync: Sync<Item>

  const client: Redis
  const firestore: Firestore
  const pool: Pool
  const sql: Sql
  const transaction: PoolClient

  const analysisId: string
  const body: string
  const element: Element
  const entry: string
  const invoice: unknown
  const project: unknown

  function analyse(...input: unknown[]): Promise<unknown>
  function transfer(tokens: readonly number[], signal: AbortSignal): Promise<void>
  function runSchedule(signal: AbortSignal): Promise<void>
  const signal: AbortSignal
  function applyTheme(color: string): void
  function build(options: { signal: AbortSignal }): Promise<void>
  function draw(options: { signal: AbortSignal }): Promise<void>
  function drawRow(id: string, item: Item): void
  function edit(text: unknown): Promise<string>
  function load(...input: unknown[]): unknown
  function log(...values: unknown[]): void
  function myStore(client: unknown): LeaseStore
  function openClient(): Promise<{ drop(): Promise<void> }>
  function removeAllRows(): void
  function removeRow(id: string): void
  function render(state: unknown): void
  function save(content: unknown, options?: { token: number }): Promise<void>
  function showReadOnly(reason: string): void
  function verifyOidc(header: string | null): Promise<boolean>
  function work(): Promise<void>
  function write(): Promise<void>

  /** Of `@types/wicg-file-system-access`, as the page says. */
  function showDirectoryPicker(options: { mode: 'readwrite' }): Promise<FileSystemDirectoryHandle>
}
