import { type Connection, createConnection } from 'mysql2/promise'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migrateMysql } from '../../../src/stores/mysql/index.ts'
import { namesOf } from '../../../src/stores/mysql/names.ts'
import { procedureTexts } from '../../../src/stores/mysql/schema.ts'

const { HOLDFAST_TEST_MYSQL_URL: url = '' } = process.env

let admin: Connection
let database: string
beforeEach(async () => {
  admin = await createConnection(url)
  database = `bed_${crypto.randomUUID().replaceAll('-', '')}`
  await admin.query(`create database ${database}`)
  await admin.query(`use ${database}`)
})
afterEach(async () => {
  await admin.query(`drop database ${database}`)
  await admin.end()
})

const texts = procedureTexts(namesOf(undefined, 'holdfast_leases'))

describe('the procedures of the MySQL store', () => {
  it('the procedures of the MySQL store are those that a migration creates', async () => {
    await migrateMysql(admin, { database })
    const [found] = await admin.query<never[]>('show procedure status where db = ?', [database])
    const names = texts.map((text) => /^create procedure `(\w+)`/.exec(text)?.[1])
    expect(found.map(({ Name }) => Name).toSorted()).toEqual(names.toSorted())
  })

  it('the procedures of the MySQL store are accepted by the server one by one, as a person pastes them into mysql', async () => {
    expect(texts.length).toBeGreaterThan(15)
    for (const text of texts) await admin.query(text)
  })

  it('the procedures of the MySQL store are refused by the server if one has a mistake in its body', async () => {
    const [settle = ''] = texts
    await expect(admin.query(settle.replace('leave counting;', 'leaf counting;'))).rejects.toThrow('syntax')
  })
})
