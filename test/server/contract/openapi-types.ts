/** Written by UPDATE_CLIENT=1 from the OpenAPI document. */
export interface paths {
    "/api/documents/{roomId}/lock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The lock of the room: whether it is held, the holder, and the queue. */
        get: operations["readLock"];
        /** Heartbeat: the lock lives for its whole TTL from now. It may change the name of the holder. */
        put: operations["beat"];
        /** Lock the room. Repeated by the holder, it renews the lock. */
        post: operations["lock"];
        /** Unlock, or leave the queue. It also succeeds if there is no lock. */
        delete: operations["unlock"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{roomId}/lock/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Unlock by a beacon, which cannot set a header and may arrive late. */
        post: operations["unlockByBeacon"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/locks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The locks of many rooms, in their order. */
        post: operations["readLocks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{roomId}/lock/takeover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take over. The holder is told and has a grace period to save. The request stays open meanwhile. */
        post: operations["takeOver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{roomId}/lock/request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask the holder to hand over. The request stays open until the holder answers or its time is over. */
        post: operations["requestLock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{roomId}/lock/request/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The holder hands over, declines, or asks for more time. A takeover can neither be declined nor postponed. */
        post: operations["answerRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{roomId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The content as it was last saved. With `If-None-Match`, 304 if it is still the same. */
        get: operations["readDocument"];
        /** Save, as the holder of the latest lock, with its token. With `If-Match`, only over that revision. With `If-None-Match: *`, only if nothing was saved. With `sequence`, only if no save of this lock with a higher one is stored. */
        put: operations["saveDocument"];
        post?: never;
        /** Delete the content, as the holder of the lock or as an administrator. It also succeeds if there is none. */
        delete: operations["deleteDocument"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/leases/{resource}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The leases of a resource that are live or `kept`. */
        get: operations["readLease"];
        /** Renew a live lease by its id. */
        put: operations["renewLease"];
        /** Ask for the lease. With `wait`, join the queue and be woken by push. */
        post: operations["acquireLease"];
        /** Release whatever the id has, or end the lease with this token by force. */
        delete: operations["releaseLease"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/leases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The leases of these resources that are live or `kept`, in their order. Without names: all, in pages. */
        get: operations["readLeases"];
        /** Renew a live lease by its id. */
        put: operations["renewLeaseByQuery"];
        /** Ask for the lease. With `wait`, join the queue and be woken by push. */
        post: operations["acquireLeaseByQuery"];
        /** Release whatever the id has, or end the lease with this token by force. */
        delete: operations["releaseLeaseByQuery"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Renew and release many leases. Each has its own answer, in their order. */
        post: operations["keepLeases"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sweep": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End expired leases. Each lease is returned to one request, ever, and to nobody who may not see it. */
        post: operations["sweepLeases"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/locks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All leases that are live or `kept`, of rooms and others, without their ids, and how many wait for each. */
        get: operations["listLocks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/locks/{resource}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The leases of a resource that are live or `kept`, its waiters, without their ids, and who has the room open. */
        get: operations["showLock"];
        put?: never;
        post?: never;
        /** End all leases of a resource by force. That of a room is `document:` and its name. */
        delete: operations["forceRelease"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who locked, unlocked and took over which resource. The newest entry is first. */
        get: operations["readAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The last 15 minutes in buckets of ten seconds, or the last day in buckets of five minutes. */
        get: operations["readStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/broadcasting/auth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign the subscription to a private or presence channel. */
        post: operations["authorizeChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/broadcasting/user-auth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign a socket in as the user, for `pusher:signin`. */
        post: operations["authorizeUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/telemetry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Events of clients, in batches. `accepted`: how many of them were kept. */
        post: operations["postTelemetry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process is alive. */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Leases, documents, audit and bus can be read and written, and the server is not stopping. */
        get: operations["readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures for Prometheus. */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send an event to channels, on all nodes. */
        post: operations["triggerEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/batch_events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send several events, each to one channel, in their order. */
        post: operations["triggerBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/channels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The channels that somebody has subscribed to. */
        get: operations["listChannels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/channels/{channel}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether somebody has subscribed to a channel. */
        get: operations["readChannel"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/channels/{channel}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The members of a presence channel. */
        get: operations["listUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/users/{user}/terminate_connections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End all sockets that have signed in as a user, on all nodes. */
        post: operations["terminateUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document. */
        get: operations["openApi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: never;
    responses: {
        /** @description Refused, with a stable `error`. */
        Refused: {
            headers: {
                /** @description With 429 and 503: the seconds after which to ask again. */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /** @enum {string} */
                    error: "bad_request" | "invalid_json" | "body_too_deep" | "inexact_number" | "invalid_body" | "invalid_query" | "invalid_room" | "invalid_argument" | "invalid_client" | "invalid_if_match" | "invalid_channel" | "no_queue" | "share_unsupported" | "unauthenticated" | "invalid_signature" | "forbidden" | "origin_not_allowed" | "not_locked_by_user" | "not_found" | "lock_not_found" | "request_not_found" | "unknown_app" | "contents_off" | "telemetry_off" | "metrics_off" | "method_not_allowed" | "request_timeout" | "already_locked" | "lease_held" | "lease_lost" | "stale_token" | "stale_save" | "handover_declined" | "handoff_pending" | "handover_unanswered" | "takeover_not_declinable" | "content_unreadable" | "superseded" | "withdrawn" | "revision_mismatch" | "body_too_large" | "data_too_large" | "unsupported_encoding" | "expectation_failed" | "host_not_allowed" | "too_many_requests" | "too_many_waiters" | "headers_too_large" | "store_failed" | "internal" | "store_unavailable" | "not_ready" | "starting" | "stopping";
                    message: string;
                } & {
                    [key: string]: unknown;
                };
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    readLock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the tab or program. Without it, all tabs of a session are one client. */
                "X-Holdfast-Client"?: string;
            };
            path: {
                /** @description The name of the room: at most 200 bytes, and not `.` or `..`. */
                roomId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        is_locked: false;
                        waiting: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                        }[];
                        waiting_count: number;
                        ttl_ms: number;
                        heartbeat_ms: number;
                        grace_ms: number;
                        answer_within_ms: number;
                        channel: string;
                        channel_key: string;
                        you: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                        };
                    } | {
                        /** @constant */
                        is_locked: true;
                        locked_at: string;
                        expires_at: string;
                        expires_in_ms: number;
                        token: number;
                        holder: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                            is_you: boolean;
                        };
                        request?: {
                            request_id: string;
                            /** @enum {string} */
                            kind: "takeover" | "request";
                            by: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            };
                            passes?: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            }[];
                            answer_within_ms: number;
                            postponed_ms?: number;
                        };
                        waiting: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                        }[];
                        waiting_count: number;
                        ttl_ms: number;
                        heartbeat_ms: number;
                        grace_ms: number;
                        answer_within_ms: number;
                        channel: string;
                        channel_key: string;
                        you: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                        };
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    beat: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the tab or program. Without it, all tabs of a session are one client. */
                "X-Holdfast-Client"?: string;
            };
            path: {
                /** @description The name of the room: at most 200 bytes, and not `.` or `..`. */
                roomId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    name?: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                        locked_at: string;
                        expires_at: string;
                        expires_in_ms: number;
                        token: number;
                        request?: {
                            request_id: string;
                            /** @enum {string} */
                            kind: "takeover" | "request";
                            by: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            };
                            passes?: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            }[];
                            answer_within_ms: number;
                            postponed_ms?: number;
                        };
                    };
                };
            };
            /** @description Refused. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "forbidden" | "origin_not_allowed" | "not_locked_by_user";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "not_found" | "lock_not_found" | "request_not_found" | "unknown_app" | "contents_off" | "telemetry_off" | "metrics_off";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    lock: {
        parameters: {
            query?: {
                /** @description Seconds to wait in the queue. More than 50 counts as 50. */
                wait?: number;
            };
            header?: {
                /** @description The id of the tab or program. Without it, all tabs of a session are one client. */
                "X-Holdfast-Client"?: string;
            };
            path: {
                /** @description The name of the room: at most 200 bytes, and not `.` or `..`. */
                roomId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    name?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                        locked_at: string;
                        expires_at: string;
                        expires_in_ms: number;
                        token: number;
                        request?: {
                            request_id: string;
                            /** @enum {string} */
                            kind: "takeover" | "request";
                            by: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            };
                            passes?: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            }[];
                            answer_within_ms: number;
                            postponed_ms?: number;
                        };
                        ttl_ms: number;
                        heartbeat_ms: number;
                        grace_ms: number;
                        answer_within_ms: number;
                        channel: string;
                        channel_key: string;
                        you: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                        };
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        error: "already_locked";
                        message: string;
                        locked_at?: string;
                        expires_at?: string;
                        expires_in_ms?: number;
                        holder?: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                            is_you: boolean;
                        };
                        place: number | null;
                        ttl_ms: number;
                        heartbeat_ms: number;
                        grace_ms: number;
                        answer_within_ms: number;
                        channel: string;
                        channel_key: string;
                        you: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                        };
                    } | ({
                        /** @enum {string} */
                        error: "already_locked" | "lease_held" | "lease_lost" | "stale_token" | "stale_save" | "handover_declined" | "handoff_pending" | "handover_unanswered" | "takeover_not_declinable" | "content_unreadable" | "superseded" | "withdrawn";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    });
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    unlock: {
        parameters: {
            query?: {
                /** @description End only the lock with this token. */
                token?: number;
            };
            header?: {
                /** @description The id of the tab or program. Without it, all tabs of a session are one client. */
                "X-Holdfast-Client"?: string;
            };
            path: {
                /** @description The name of the room: at most 200 bytes, and not `.` or `..`. */
                roomId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                    };
                };
            };
            /** @description Refused. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "forbidden" | "origin_not_allowed" | "not_locked_by_user";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "already_locked" | "lease_held" | "lease_lost" | "stale_token" | "stale_save" | "handover_declined" | "handoff_pending" | "handover_unanswered" | "takeover_not_declinable" | "content_unreadable" | "superseded" | "withdrawn";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    unlockByBeacon: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the tab or program. Without it, all tabs of a session are one client. */
                "X-Holdfast-Client"?: string;
            };
            path: {
                /** @description The name of the room: at most 200 bytes, and not `.` or `..`. */
                roomId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    client_id?: string;
                    token: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                    };
                };
            };
            /** @description Refused. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "forbidden" | "origin_not_allowed" | "not_locked_by_user";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "already_locked" | "lease_held" | "lease_lost" | "stale_token" | "stale_save" | "handover_declined" | "handoff_pending" | "handover_unanswered" | "takeover_not_declinable" | "content_unreadable" | "superseded" | "withdrawn";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    readLocks: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the tab or program. Without it, all tabs of a session are one client. */
                "X-Holdfast-Client"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    rooms: string[];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        locks: ({
                            room_id: string;
                            waiting: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            }[];
                            waiting_count: number;
                            /** @constant */
                            is_locked: false;
                        } | {
                            room_id: string;
                            waiting: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            }[];
                            waiting_count: number;
                            /** @constant */
                            is_locked: true;
                            locked_at: string;
                            expires_at: string;
                            expires_in_ms: number;
                            token: number;
                            holder: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                                is_you: boolean;
                            };
                        })[];
                    };
                };
            };
            /** @description Refused. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "forbidden" | "origin_not_allowed" | "not_locked_by_user";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    takeOver: {
        parameters: {
            query?: {
                /** @description Seconds after which the request ends with `handoff_pending`, if the holder has not decided. Ask again within 3 seconds to go on waiting. More than 50 counts as 50. */
                wait?: number;
            };
            header?: {
                /** @description The id of the tab or program. Without it, all tabs of a session are one client. */
                "X-Holdfast-Client"?: string;
            };
            path: {
                /** @description The name of the room: at most 200 bytes, and not `.` or `..`. */
                roomId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    name?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                        locked_at: string;
                        expires_at: string;
                        expires_in_ms: number;
                        token: number;
                        request?: {
                            request_id: string;
                            /** @enum {string} */
                            kind: "takeover" | "request";
                            by: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            };
                            passes?: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            }[];
                            answer_within_ms: number;
                            postponed_ms?: number;
                        };
                        ttl_ms: number;
                        heartbeat_ms: number;
                        grace_ms: number;
                        answer_within_ms: number;
                        channel: string;
                        channel_key: string;
                        you: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                        };
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        error: "already_locked";
                        message: string;
                        locked_at?: string;
                        expires_at?: string;
                        expires_in_ms?: number;
                        holder?: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                            is_you: boolean;
                        };
                        place: number | null;
                        ttl_ms: number;
                        heartbeat_ms: number;
                        grace_ms: number;
                        answer_within_ms: number;
                        channel: string;
                        channel_key: string;
                        you: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                        };
                    } | {
                        /** @constant */
                        error: "handoff_pending";
                        message: string;
                        answer_within_ms: number;
                        postponed_ms?: number;
                    } | ({
                        /** @enum {string} */
                        error: "already_locked" | "lease_held" | "lease_lost" | "stale_token" | "stale_save" | "handover_declined" | "handoff_pending" | "handover_unanswered" | "takeover_not_declinable" | "content_unreadable" | "superseded" | "withdrawn";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    });
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    requestLock: {
        parameters: {
            query?: {
                /** @description Seconds after which the request ends with `handoff_pending`, if the holder has not decided. Ask again within 3 seconds to go on waiting. More than 50 counts as 50. */
                wait?: number;
            };
            header?: {
                /** @description The id of the tab or program. Without it, all tabs of a session are one client. */
                "X-Holdfast-Client"?: string;
            };
            path: {
                /** @description The name of the room: at most 200 bytes, and not `.` or `..`. */
                roomId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    name?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                        locked_at: string;
                        expires_at: string;
                        expires_in_ms: number;
                        token: number;
                        request?: {
                            request_id: string;
                            /** @enum {string} */
                            kind: "takeover" | "request";
                            by: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            };
                            passes?: {
                                session_id: string;
                                client_id?: string;
                                name?: string;
                            }[];
                            answer_within_ms: number;
                            postponed_ms?: number;
                        };
                        ttl_ms: number;
                        heartbeat_ms: number;
                        grace_ms: number;
                        answer_within_ms: number;
                        channel: string;
                        channel_key: string;
                        you: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                        };
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        error: "already_locked";
                        message: string;
                        locked_at?: string;
                        expires_at?: string;
                        expires_in_ms?: number;
                        holder?: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                            is_you: boolean;
                        };
                        place: number | null;
                        ttl_ms: number;
                        heartbeat_ms: number;
                        grace_ms: number;
                        answer_within_ms: number;
                        channel: string;
                        channel_key: string;
                        you: {
                            session_id: string;
                            client_id?: string;
                            name?: string;
                        };
                    } | {
                        /** @constant */
                        error: "handoff_pending";
                        message: string;
                        answer_within_ms: number;
                        postponed_ms?: number;
                    } | ({
                        /** @enum {string} */
                        error: "already_locked" | "lease_held" | "lease_lost" | "stale_token" | "stale_save" | "handover_declined" | "handoff_pending" | "handover_unanswered" | "takeover_not_declinable" | "content_unreadable" | "superseded" | "withdrawn";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    });
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    answerRequest: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the tab or program. Without it, all tabs of a session are one client. */
                "X-Holdfast-Client"?: string;
            };
            path: {
                /** @description The name of the room: at most 200 bytes, and not `.` or `..`. */
                roomId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    request_id: string;
                    granted: boolean;
                } | {
                    request_id: string;
                    postpone_ms: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                    };
                };
            };
            /** @description Refused. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "forbidden" | "origin_not_allowed" | "not_locked_by_user";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "not_found" | "lock_not_found" | "request_not_found" | "unknown_app" | "contents_off" | "telemetry_off" | "metrics_off";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "already_locked" | "lease_held" | "lease_lost" | "stale_token" | "stale_save" | "handover_declined" | "handoff_pending" | "handover_unanswered" | "takeover_not_declinable" | "content_unreadable" | "superseded" | "withdrawn";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    readDocument: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags, or `*` for any content: a read gets 304, and a change 412, if the content is at one of them. */
                "If-None-Match"?: string;
            };
            path: {
                /** @description The name of the room: at most 200 bytes, and not `.` or `..`. */
                roomId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    /** @description The revision of the content. */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        content: unknown;
                        token: number | null;
                        saved_at: string | null;
                        revision: number;
                    };
                };
            };
            /** @description Done. */
            304: {
                headers: {
                    /** @description The revision of the content. */
                    ETag: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "already_locked" | "lease_held" | "lease_lost" | "stale_token" | "stale_save" | "handover_declined" | "handoff_pending" | "handover_unanswered" | "takeover_not_declinable" | "content_unreadable" | "superseded" | "withdrawn";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    saveDocument: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the tab or program. Without it, all tabs of a session are one client. */
                "X-Holdfast-Client"?: string;
                /** @description ETags, or `*` for any content: 412 unless the content is at one of them. `"0"`: there is none. */
                "If-Match"?: string;
                /** @description ETags, or `*` for any content: a read gets 304, and a change 412, if the content is at one of them. */
                "If-None-Match"?: string;
            };
            path: {
                /** @description The name of the room: at most 200 bytes, and not `.` or `..`. */
                roomId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    content: unknown;
                    token: number;
                    sequence?: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    /** @description The revision of the content. */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                        token: number;
                        saved_at: string;
                        revision: number;
                    };
                };
            };
            /** @description Refused. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "forbidden" | "origin_not_allowed" | "not_locked_by_user";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        error: "stale_save";
                        message: string;
                        sequence: number;
                    } | ({
                        /** @enum {string} */
                        error: "already_locked" | "lease_held" | "lease_lost" | "stale_token" | "stale_save" | "handover_declined" | "handoff_pending" | "handover_unanswered" | "takeover_not_declinable" | "content_unreadable" | "superseded" | "withdrawn";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    });
                };
            };
            /** @description Refused. */
            412: {
                headers: {
                    /** @description The revision of the content. */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        error: "revision_mismatch";
                        message: string;
                        revision: number;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteDocument: {
        parameters: {
            query?: {
                /** @description Delete only as the holder of the lock with this token. */
                token?: number;
                /** @description Delete only if no save or deletion of this lock with this sequence or a higher one was carried out. Needs `token`. */
                sequence?: number;
            };
            header?: {
                /** @description The id of the tab or program. Without it, all tabs of a session are one client. */
                "X-Holdfast-Client"?: string;
                /** @description ETags, or `*` for any content: 412 unless the content is at one of them. `"0"`: there is none. */
                "If-Match"?: string;
                /** @description ETags, or `*` for any content: a read gets 304, and a change 412, if the content is at one of them. */
                "If-None-Match"?: string;
            };
            path: {
                /** @description The name of the room: at most 200 bytes, and not `.` or `..`. */
                roomId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                    };
                };
            };
            /** @description Refused. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "forbidden" | "origin_not_allowed" | "not_locked_by_user";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "not_found" | "lock_not_found" | "request_not_found" | "unknown_app" | "contents_off" | "telemetry_off" | "metrics_off";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        error: "stale_save";
                        message: string;
                        sequence: number;
                    } | ({
                        /** @enum {string} */
                        error: "already_locked" | "lease_held" | "lease_lost" | "stale_token" | "stale_save" | "handover_declined" | "handoff_pending" | "handover_unanswered" | "takeover_not_declinable" | "content_unreadable" | "superseded" | "withdrawn";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    });
                };
            };
            /** @description Refused. */
            412: {
                headers: {
                    /** @description The revision of the content. */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        error: "revision_mismatch";
                        message: string;
                        revision: number;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    readLease: {
        parameters: {
            query?: {
                /** @description How many waiters of each resource to list. The answer also has their number. */
                waiting?: number;
            };
            header?: never;
            path: {
                /** @description The name of the resource: at most 512 bytes. */
                resource: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        leases: ({
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        } | null)[];
                        holders: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        }[][];
                        queues?: {
                            count: number;
                            first: {
                                id: string;
                                owner: string;
                                share?: (number | "unlimited") | null;
                                place: number;
                            }[];
                        }[];
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    renewLease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of the resource: at most 512 bytes. */
                resource: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id: string;
                    ttl: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        lease: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        };
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        error: "lease_lost";
                        message: string;
                        /** @constant */
                        ok: false;
                        holder: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        } | null;
                        holders: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        }[];
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    acquireLease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of the resource: at most 512 bytes. */
                resource: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id: string;
                    owner: string;
                    ttl: number;
                    metadata?: {
                        [key: string]: unknown;
                    };
                    wait?: boolean;
                    client?: string;
                    share?: number | "unlimited";
                    atLeast?: number;
                    lockDelay?: number;
                    replace?: number | "any";
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        granted: true;
                        lease: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        };
                        replaced?: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        };
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        error: "lease_held";
                        message: string;
                        /** @constant */
                        granted: false;
                        holder: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        } | null;
                        holders: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        }[];
                        keptFor?: number;
                        place: number | null;
                        retryIn: number | null;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    releaseLease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of the resource: at most 512 bytes. */
                resource: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id: string;
                } | {
                    token: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ended: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        } | null;
                        holder: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        } | null;
                        holders: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        }[];
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    readLeases: {
        parameters: {
            query?: {
                /** @description Up to 100 resources, each as a parameter of its own. */
                resource?: string[];
                /** @description Only resources that begin with this text. */
                prefix?: string;
                /** @description The `next` of the previous page, or a resource: only resources that sort after it. */
                after?: string;
                /** @description The largest number of results. Default 100. */
                limit?: number;
                /** @description How many waiters of each resource to list. The answer also has their number. */
                waiting?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        leases: ({
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        } | null)[];
                        holders?: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        }[][];
                        queues?: {
                            count: number;
                            first: {
                                id: string;
                                owner: string;
                                share?: (number | "unlimited") | null;
                                place: number;
                            }[];
                        }[];
                        next?: string;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    renewLeaseByQuery: {
        parameters: {
            query: {
                /** @description The resource, if its name cannot be part of a path: `.` and `..`. */
                resource: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id: string;
                    ttl: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        lease: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        };
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        error: "lease_lost";
                        message: string;
                        /** @constant */
                        ok: false;
                        holder: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        } | null;
                        holders: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        }[];
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    acquireLeaseByQuery: {
        parameters: {
            query: {
                /** @description The resource, if its name cannot be part of a path: `.` and `..`. */
                resource: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id: string;
                    owner: string;
                    ttl: number;
                    metadata?: {
                        [key: string]: unknown;
                    };
                    wait?: boolean;
                    client?: string;
                    share?: number | "unlimited";
                    atLeast?: number;
                    lockDelay?: number;
                    replace?: number | "any";
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        granted: true;
                        lease: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        };
                        replaced?: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        };
                    };
                };
            };
            /** @description Refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        error: "lease_held";
                        message: string;
                        /** @constant */
                        granted: false;
                        holder: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        } | null;
                        holders: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        }[];
                        keptFor?: number;
                        place: number | null;
                        retryIn: number | null;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    releaseLeaseByQuery: {
        parameters: {
            query: {
                /** @description The resource, if its name cannot be part of a path: `.` and `..`. */
                resource: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id: string;
                } | {
                    token: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ended: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        } | null;
                        holder: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        } | null;
                        holders: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        }[];
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    keepLeases: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    calls: ({
                        /** @constant */
                        method: "PUT";
                        resource: string;
                        body: {
                            id: string;
                            ttl: number;
                        };
                    } | {
                        /** @constant */
                        method: "DELETE";
                        resource: string;
                        body: {
                            id: string;
                        } | {
                            token: number;
                        };
                    })[];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        answers: {
                            status: number;
                            body: {
                                [key: string]: unknown;
                            };
                        }[];
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    sweepLeases: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    limit: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        leases: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            id: string;
                        }[];
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listLocks: {
        parameters: {
            query?: {
                /** @description Only resources that begin with this text. */
                prefix?: string;
                /** @description The `next` of the previous page, or a resource: only resources that sort after it. */
                after?: string;
                /** @description The largest number of results. Default 100. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        locks: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                            waiting: number | null;
                        }[];
                        next?: string;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    showLock: {
        parameters: {
            query?: {
                /** @description The largest number of results. Default 100. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The name of the resource: at most 512 bytes. */
                resource: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        lock: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                        } | null;
                        holders: {
                            resource: string;
                            owner: string;
                            token: number;
                            metadata: {
                                [key: string]: unknown;
                            } | null;
                            share?: (number | "unlimited") | null;
                            acquiredAt: number;
                            expiresAt: number | null;
                            remaining: number | null;
                            /** @enum {string} */
                            state: "held" | "kept" | "released" | "expired" | "taken-over";
                        }[];
                        waiting: number | null;
                        queue: {
                            owner: string;
                            name?: string;
                            share?: (number | "unlimited") | null;
                            place: number;
                        }[];
                        viewers: {
                            session_id: string;
                            name: string | null;
                        }[];
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    forceRelease: {
        parameters: {
            query?: {
                /** @description Only the lease with this token. */
                token?: number;
            };
            header?: never;
            path: {
                /** @description The name of the resource: at most 512 bytes. */
                resource: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                    };
                };
            };
            /** @description Refused. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "not_found" | "lock_not_found" | "request_not_found" | "unknown_app" | "contents_off" | "telemetry_off" | "metrics_off";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    readAudit: {
        parameters: {
            query?: {
                /** @description Only entries about this resource. */
                resource?: string;
                /** @description The `next` of the previous page. */
                before?: number;
                /** @description The largest number of results. Default 100. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        entries: {
                            at: string;
                            /** @enum {string} */
                            action: "lock" | "unlock" | "expired" | "take-over" | "force-release" | "delete";
                            resource: string;
                            token: number;
                            owner: string;
                            owner_name?: string;
                            by?: string;
                        }[];
                        next?: number;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    readStats: {
        parameters: {
            query?: {
                /** @description The time that the buckets cover. Default 15m. */
                range?: "15m" | "24h";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        live: number;
                        kept: number;
                        waiters: number | null;
                        queues: {
                            resource: string;
                            waiting: number;
                        }[];
                        viewed: {
                            resource: string;
                            count: number;
                            first: {
                                session_id: string;
                                name: string | null;
                            }[];
                        }[];
                        since: string;
                        channel_key: string;
                        bucket_ms: number;
                        buckets: {
                            at: string;
                            grants: number;
                            answered: number;
                            refusals: number;
                            ends: number;
                            expiries: number;
                            lost: number;
                            waits: {
                                count: number;
                                p50: number | null;
                                p95: number | null;
                                p99: number | null;
                            };
                        }[];
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    authorizeChannel: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    socket_id: string;
                    channel_name: string;
                    name?: string;
                };
                "application/x-www-form-urlencoded": {
                    socket_id: string;
                    channel_name: string;
                    name?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        auth: string;
                        channel_data?: string;
                    };
                };
            };
            /** @description Refused. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "bad_request" | "invalid_json" | "body_too_deep" | "inexact_number" | "invalid_body" | "invalid_query" | "invalid_room" | "invalid_argument" | "invalid_client" | "invalid_if_match" | "invalid_channel" | "no_queue" | "share_unsupported";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "forbidden" | "origin_not_allowed" | "not_locked_by_user";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    authorizeUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    socket_id: string;
                };
                "application/x-www-form-urlencoded": {
                    socket_id: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        auth: string;
                        user_data: string;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postTelemetry: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    events: ({
                        type: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                };
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        accepted: number;
                    };
                };
            };
            /** @description Refused. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "not_found" | "lock_not_found" | "request_not_found" | "unknown_app" | "contents_off" | "telemetry_off" | "metrics_off";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        status: string;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        status: string;
                    };
                };
            };
            /** @description Refused. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "store_unavailable" | "not_ready" | "starting" | "stopping";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Refused. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "not_found" | "lock_not_found" | "request_not_found" | "unknown_app" | "contents_off" | "telemetry_off" | "metrics_off";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    triggerEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The `appId` of the server. */
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    data: string;
                    socket_id?: string;
                    info?: string;
                    channels: string[];
                } | {
                    name: string;
                    data: string;
                    socket_id?: string;
                    info?: string;
                    channel: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        channels?: {
                            [key: string]: {
                                user_count?: number;
                                subscription_count?: number;
                            };
                        };
                    };
                };
            };
            /** @description Refused. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "unauthenticated" | "invalid_signature";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    triggerBatch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The `appId` of the server. */
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    batch: {
                        name: string;
                        data: string;
                        socket_id?: string;
                        info?: string;
                        channel: string;
                    }[];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        batch?: {
                            user_count?: number;
                            subscription_count?: number;
                        }[];
                    };
                };
            };
            /** @description Refused. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "unauthenticated" | "invalid_signature";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listChannels: {
        parameters: {
            query?: {
                /** @description Only channels that begin with this text. */
                filter_by_prefix?: string;
                /** @description `user_count` (presence channels only), `subscription_count`, or both with a comma. */
                info?: string;
            };
            header?: never;
            path: {
                /** @description The `appId` of the server. */
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        channels: {
                            [key: string]: {
                                user_count?: number;
                                subscription_count?: number;
                            };
                        };
                    };
                };
            };
            /** @description Refused. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "unauthenticated" | "invalid_signature";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    readChannel: {
        parameters: {
            query?: {
                /** @description `user_count` (presence channels only), `subscription_count`, or both with a comma. */
                info?: string;
            };
            header?: never;
            path: {
                /** @description The `appId` of the server. */
                appId: string;
                /** @description The name of the channel. */
                channel: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        occupied: boolean;
                        user_count?: number;
                        subscription_count?: number;
                    };
                };
            };
            /** @description Refused. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "unauthenticated" | "invalid_signature";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listUsers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The `appId` of the server. */
                appId: string;
                /** @description The name of the channel. */
                channel: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        users: {
                            id: string;
                        }[];
                    };
                };
            };
            /** @description Refused. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "bad_request" | "invalid_json" | "body_too_deep" | "inexact_number" | "invalid_body" | "invalid_query" | "invalid_room" | "invalid_argument" | "invalid_client" | "invalid_if_match" | "invalid_channel" | "no_queue" | "share_unsupported";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "unauthenticated" | "invalid_signature";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    terminateUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The `appId` of the server. */
                appId: string;
                /** @description The public id of the user. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description Refused. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "unauthenticated" | "invalid_signature";
                        message: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    openApi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        openapi: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Refused"];
        };
    };
}
