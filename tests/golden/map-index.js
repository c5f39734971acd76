"use strict";
var __awaiter = (this && this.__awaiter) || function (thisArg, _arguments, P, generator) {
    function adopt(value) { return value instanceof P ? value : new P(function (resolve) { resolve(value); }); }
    return new (P || (P = Promise))(function (resolve, reject) {
        function fulfilled(value) { try { step(generator.next(value)); } catch (e) { reject(e); } }
        function rejected(value) { try { step(generator["throw"](value)); } catch (e) { reject(e); } }
        function step(result) { result.done ? resolve(result.value) : adopt(result.value).then(fulfilled, rejected); }
        step((generator = generator.apply(thisArg, _arguments || [])).next());
    });
};
var __generator = (this && this.__generator) || function (thisArg, body) {
    var _ = { label: 0, sent: function() { if (t[0] & 1) throw t[1]; return t[1]; }, trys: [], ops: [] }, f, y, t, g = Object.create((typeof Iterator === "function" ? Iterator : Object).prototype);
    return g.next = verb(0), g["throw"] = verb(1), g["return"] = verb(2), typeof Symbol === "function" && (g[Symbol.iterator] = function() { return this; }), g;
    function verb(n) { return function (v) { return step([n, v]); }; }
    function step(op) {
        if (f) throw new TypeError("Generator is already executing.");
        while (g && (g = 0, op[0] && (_ = 0)), _) try {
            if (f = 1, y && (t = op[0] & 2 ? y["return"] : op[0] ? y["throw"] || ((t = y["return"]) && t.call(y), 0) : y.next) && !(t = t.call(y, op[1])).done) return t;
            if (y = 0, t) op = [op[0] & 2, t.value];
            switch (op[0]) {
                case 0: case 1: t = op; break;
                case 4: _.label++; return { value: op[1], done: false };
                case 5: _.label++; y = op[1]; op = [0]; continue;
                case 7: op = _.ops.pop(); _.trys.pop(); continue;
                default:
                    if (!(t = _.trys, t = t.length > 0 && t[t.length - 1]) && (op[0] === 6 || op[0] === 2)) { _ = 0; continue; }
                    if (op[0] === 3 && (!t || (op[1] > t[0] && op[1] < t[3]))) { _.label = op[1]; break; }
                    if (op[0] === 6 && _.label < t[1]) { _.label = t[1]; t = op; break; }
                    if (t && _.label < t[2]) { _.label = t[2]; _.ops.push(op); break; }
                    if (t[2]) _.ops.pop();
                    _.trys.pop(); continue;
            }
            op = body.call(thisArg, _);
        } catch (e) { op = [6, e]; y = 0; } finally { f = t = 0; }
        if (op[0] & 5) throw op[1]; return { value: op[0] ? op[1] : void 0, done: true };
    }
};
var __rest = (this && this.__rest) || function (s, e) {
    var t = {};
    for (var p in s) if (Object.prototype.hasOwnProperty.call(s, p) && e.indexOf(p) < 0)
        t[p] = s[p];
    if (s != null && typeof Object.getOwnPropertySymbols === "function")
        for (var i = 0, p = Object.getOwnPropertySymbols(s); i < p.length; i++) {
            if (e.indexOf(p[i]) < 0 && Object.prototype.propertyIsEnumerable.call(s, p[i]))
                t[p[i]] = s[p[i]];
        }
    return t;
};
Object.defineProperty(exports, "__esModule", { value: true });
exports.kinds = exports.Orders = void 0;
var basket_1 = require("./basket");
var Orders = /** @class */ (function () {
    function Orders(name) {
        if (name === void 0) { name = 'orders'; }
        this.name = name;
        this.all = [];
    }
    Orders.prototype.place = function (order) {
        return __awaiter(this, void 0, Promise, function () {
            var id, rest;
            return __generator(this, function (_a) {
                switch (_a.label) {
                    case 0:
                        this.all.push(order);
                        id = order.id, rest = __rest(order, ["id"]);
                        return [4 /*yield*/, this.check(id !== null && id !== void 0 ? id : 0)];
                    case 1:
                        _a.sent();
                        return [2 /*return*/, (0, basket_1.total)(rest.größe.map(function (one) { return one * 2; }))];
                }
            });
        });
    };
    Orders.prototype.check = function (id) {
        return __awaiter(this, void 0, Promise, function () {
            var _this = this;
            return __generator(this, function (_a) {
                if (this.all.some(function (other) { return (other === null || other === void 0 ? void 0 : other.id) === id && other !== _this.all.at(-1); })) {
                    throw new Error("".concat(this.name, ": ").concat(id, " is there already"));
                }
                return [2 /*return*/];
            });
        });
    };
    return Orders;
}());
exports.Orders = Orders;
var Kind;
(function (Kind) {
    Kind[Kind["Small"] = 1] = "Small";
    Kind[Kind["Large"] = 2] = "Large";
})(Kind || (Kind = {}));
exports.kinds = Object.keys(Kind).filter(function (key) { return isNaN(Number(key)); });
void new Orders().place({ id: Kind.Large, größe: [1, 2] }).then(function (sum) { return console.log('sum', sum, exports.kinds); });;"use strict";var t=this&&this.__awaiter||function(t,e,r,n){return new(r||(r=Promise))(function(o,i){function a(t){try{c(n.next(t))}catch(t){i(t)}}function u(t){try{c(n.throw(t))}catch(t){i(t)}}function c(t){var e;t.done?o(t.value):(e=t.value,e instanceof r?e:new r(function(t){t(e)})).then(a,u)}c((n=n.apply(t,e||[])).next())})},e=this&&this.__generator||function(t,e){var r,n,o,i={label:0,sent:function(){if(1&o[0])throw o[1];return o[1]},trys:[],ops:[]},a=Object.create(("function"==typeof Iterator?Iterator:Object).prototype);return a.next=u(0),a.throw=u(1),a.return=u(2),"function"==typeof Symbol&&(a[Symbol.iterator]=function(){return this}),a;function u(u){return function(c){return function(u){if(r)throw new TypeError("Generator is already executing.");for(;a&&(a=0,u[0]&&(i=0)),i;)try{if(r=1,n&&(o=2&u[0]?n.return:u[0]?n.throw||((o=n.return)&&o.call(n),0):n.next)&&!(o=o.call(n,u[1])).done)return o;switch(n=0,o&&(u=[2&u[0],o.value]),u[0]){case 0:case 1:o=u;break;case 4:return i.label++,{value:u[1],done:!1};case 5:i.label++,n=u[1],u=[0];continue;case 7:u=i.ops.pop(),i.trys.pop();continue;default:if(!(o=i.trys,(o=o.length>0&&o[o.length-1])||6!==u[0]&&2!==u[0])){i=0;continue}if(3===u[0]&&(!o||u[1]>o[0]&&u[1]<o[3])){i.label=u[1];break}if(6===u[0]&&i.label<o[1]){i.label=o[1],o=u;break}if(o&&i.label<o[2]){i.label=o[2],i.ops.push(u);break}o[2]&&i.ops.pop(),i.trys.pop();continue}u=e.call(t,i)}catch(t){u=[6,t],n=0}finally{r=o=0}if(5&u[0])throw u[1];return{value:u[0]?u[1]:void 0,done:!0}}([u,c])}}},r=this&&this.__rest||function(t,e){var r={};for(var n in t)Object.prototype.hasOwnProperty.call(t,n)&&e.indexOf(n)<0&&(r[n]=t[n]);if(null!=t&&"function"==typeof Object.getOwnPropertySymbols){var o=0;for(n=Object.getOwnPropertySymbols(t);o<n.length;o++)e.indexOf(n[o])<0&&Object.prototype.propertyIsEnumerable.call(t,n[o])&&(r[n[o]]=t[n[o]])}return r};Object.defineProperty(exports,"__esModule",{value:!0}),exports.kinds=exports.Orders=void 0;var n,o=require("./basket"),i=function(){function n(t){void 0===t&&(t="orders"),this.name=t,this.all=[]}return n.prototype.place=function(n){return t(this,void 0,Promise,function(){var t,i;return e(this,function(e){switch(e.label){case 0:return this.all.push(n),t=n.id,i=r(n,["id"]),[4,this.check(null!=t?t:0)];case 1:return e.sent(),[2,(0,o.total)(i.größe.map(function(t){return 2*t}))]}})})},n.prototype.check=function(r){return t(this,void 0,Promise,function(){var t=this;return e(this,function(e){if(this.all.some(function(e){return(null==e?void 0:e.id)===r&&e!==t.all.at(-1)}))throw new Error("".concat(this.name,": ").concat(r," is there already"));return[2]})})},n}();exports.Orders=i,function(t){t[t.Small=1]="Small",t[t.Large=2]="Large"}(n||(n={})),exports.kinds=Object.keys(n).filter(function(t){return isNaN(Number(t))}),(new i).place({id:n.Large,"größe":[1,2]}).then(function(t){return console.log("sum",t,exports.kinds)});
//# sourceMappingURL=orders.min.js.map