import type { OpenBed } from './bed.ts'
import { openEtcd, openNats } from './clusters.ts'
import { openFile, openSqlite } from './files.ts'
import { openServe } from './holdfast-server.ts'
import {
  openFirestore,
  openMysql,
  openMysqlWithJumps,
  openPostgres,
  openPostgresWithJumps,
  openRedis,
} from './servers.ts'

export type { Bed, Node, OpenBed } from './bed.ts'

/** What workers contend on, by the names of `--stores`. */
export const BEDS: Readonly<Record<string, OpenBed>> = {
  sqlite: openSqlite,
  file: openFile,
  redis: openRedis,
  postgres: openPostgres,
  mysql: openMysql,
  etcd: openEtcd,
  nats: openNats,
  firestore: openFirestore,
  serve: openServe,
  'postgres-jumps': openPostgresWithJumps,
  'mysql-jumps': openMysqlWithJumps,
}
